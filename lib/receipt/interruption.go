package receipt

import "clawsh/lib/record"

// Interruption is a call that has no receipt and is over, and the id that its receipt has.
type Interruption struct {
	ReceiptID string `json:"receipt_id"`
	CallID    string `json:"call_id"`
}

// receiptOf says of a call that nobody can say what became of it.
func receiptOf(id string, d decision) (Receipt, error) {
	args := d.ArgsHash
	if args == "" {
		args = d.ArgsSHA256
	}
	result, err := resultHash(false, "", Interrupted)
	if err != nil {
		return Receipt{}, err
	}
	risk := d.Risk
	if !isRisk(risk) {
		risk = record.RiskHigh
	}
	r := Receipt{ID: id, Timestamp: record.Now(), ConversationID: ascii(d.ConversationID), Tool: ascii(d.Tool),
		ArgsHash: args, ResultHash: result,
		Status: record.StatusFailed, Risk: risk, Attestation: Recovered, PreviousHash: Genesis, ReceiptHash: Genesis}
	line := lineOf(r)
	return r, line.check()
}
