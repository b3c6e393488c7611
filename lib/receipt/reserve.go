package receipt

import "clawsh/lib/durable"

// Room that is reserved for a receipt, more than any takes; and for those of other processes, which share it.
const (
	receiptRoom = 2 << 10
	sharedRoom  = 64 << 10
)

// Reserve takes room on the disk for n receipts, before the calls are run that they are of. It fails where Append
// would: on a full disk, and where the receipt log does not match its head (tampered with or restored).
func (l *Log) Reserve(n int) error {
	room := int64(n)*receiptRoom + sharedRoom
	err := l.log.Locked(func(e *durable.End) error {
		if err := l.settle(e); err != nil {
			return err
		}
		if limit := l.o.RotateBytes; limit > 0 && e.Size > 0 && e.Size+int64(n)*receiptRoom >= limit {
			l.end = 0
			return l.rotate(e) // it needs as much room as the log: if there is none, that is known now
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.log.Reserve(room)
}
