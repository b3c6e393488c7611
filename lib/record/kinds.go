package record

import "math"

// User is a message from a person, a script or a schedule; claw-loop reads it.
type User struct {
	V              int    `json:"v"`
	Kind           Kind   `json:"kind"`
	ID             string `json:"id"`
	ConversationID string `json:"conversation_id,omitzero"`
	TurnID         string `json:"turn_id,omitzero"`
	TS             string `json:"ts,omitzero"`
	Agent          string `json:"agent,omitzero"`
	Content        string `json:"content"`
	Metadata       Raw    `json:"metadata,omitzero"`
}

// Request asks a provider for the next response of a conversation (claw-loop to claw-llm).
type Request struct {
	V              int       `json:"v"`
	Kind           Kind      `json:"kind"`
	ID             string    `json:"id"`
	ConversationID string    `json:"conversation_id,omitzero"`
	TurnID         string    `json:"turn_id,omitzero"`
	TS             string    `json:"ts,omitzero"`
	Provider       string    `json:"provider,omitzero"`
	Model          string    `json:"model,omitzero"`
	SystemPrompt   string    `json:"system_prompt,omitzero"`
	Messages       []Message `json:"messages"`
	Tools          []Tool    `json:"tools,omitzero"`
	Temperature    *float64  `json:"temperature,omitzero"`
	Stream         bool      `json:"stream,omitzero"`
	Metadata       Raw       `json:"metadata,omitzero"`
}

// Message is one message of a conversation. Role is user, assistant or tool. An assistant message has Original, the
// message as its provider sent it.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []CallPart `json:"tool_calls,omitzero"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
	IsError    bool       `json:"is_error,omitzero"`
	Original   *Original  `json:"original,omitzero"`
}

// Original is an assistant message as a provider sent it, with fields that only that provider knows: some servers
// reject the next request without them. Only the provider of that name gets it back. Dialect names the protocol of
// the message.
type Original struct {
	Provider string `json:"provider"`
	Dialect  string `json:"dialect"`
	Message  Raw    `json:"message"`
}

// DialectChat is the dialect of /chat/completions.
const DialectChat = "chat"

// CallPart is a tool call inside a message or a response. Args is normally an object; malformed arguments are kept
// unchanged as a JSON string, and the gate denies them. ProviderCallID is the provider's own id of the call.
type CallPart struct {
	ID             string `json:"id"`
	ProviderCallID string `json:"provider_call_id,omitzero"`
	Name           string `json:"name"`
	Args           Raw    `json:"args"`
}

// Tool describes a tool to a model. Parameters is a JSON Schema.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  Raw    `json:"parameters"`
}

// Delta is a piece of a streamed response.
type Delta struct {
	V              int    `json:"v"`
	Kind           Kind   `json:"kind"`
	RequestID      string `json:"request_id"`
	ConversationID string `json:"conversation_id,omitzero"`
	TurnID         string `json:"turn_id,omitzero"`
	Text           string `json:"text"`
}

// Usage counts tokens as the provider reports them, zero if it does not.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Add returns the sum of both. It does not overflow, since the counts come from outside.
func (u Usage) Add(o Usage) Usage {
	return Usage{InputTokens: addTokens(u.InputTokens, o.InputTokens),
		OutputTokens: addTokens(u.OutputTokens, o.OutputTokens)}
}

// Total returns the tokens of input and output, at most math.MaxInt64.
func (u Usage) Total() int64 { return addTokens(u.InputTokens, u.OutputTokens) }

// addTokens adds two counts; one below 0 counts nothing.
func addTokens(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Finish reasons of a Response. The calls of an answer that ended with one of the last three are not made.
const (
	FinishStop          = "stop"
	FinishToolCalls     = "tool_calls"
	FinishLength        = "length"
	FinishContentFilter = "content_filter"
	FinishRefusal       = "refusal"
)

// Response is a provider's answer. Reasoning is what the model thought before it, if the provider shows that.
// CallsCut counts the calls in an answer that was cut off; they are not in ToolCalls.
type Response struct {
	V                  int        `json:"v"`
	Kind               Kind       `json:"kind"`
	ID                 string     `json:"id"`
	RequestID          string     `json:"request_id"`
	ConversationID     string     `json:"conversation_id,omitzero"`
	TurnID             string     `json:"turn_id,omitzero"`
	TS                 string     `json:"ts,omitzero"`
	Provider           string     `json:"provider"`
	Model              string     `json:"model"`
	FinalText          string     `json:"final_text"`
	ToolCalls          []CallPart `json:"tool_calls"`
	FinishReason       string     `json:"finish_reason"`
	CallsCut           int        `json:"calls_cut,omitzero"`
	Usage              Usage      `json:"usage"`
	Reasoning          string     `json:"reasoning,omitzero"`
	Original           *Original  `json:"original,omitzero"`
	RawProviderPayload Raw        `json:"raw_provider_payload,omitzero"`
}

// ToolCall asks for one tool to be run. After claw-gate it has a Verdict.
type ToolCall struct {
	V              int      `json:"v"`
	Kind           Kind     `json:"kind"`
	ID             string   `json:"id"`
	RequestID      string   `json:"request_id,omitzero"`
	ConversationID string   `json:"conversation_id,omitzero"`
	TurnID         string   `json:"turn_id,omitzero"`
	TS             string   `json:"ts,omitzero"`
	Tool           string   `json:"tool"`
	Args           Raw      `json:"args"`
	Repaired       string   `json:"repaired,omitzero"` // what claw-llm repaired in the name or the arguments
	Verdict        *Verdict `json:"verdict,omitzero"`
}

// Decisions, risks and approvals of a Verdict.
const (
	Allow = "allow"
	Deny  = "deny"

	RiskLow    = "low"
	RiskMedium = "medium"
	RiskHigh   = "high"

	ApprovalNotRequired = "not_required"
	ApprovalGranted     = "granted"
	ApprovalSession     = "session" // granted before, for exactly this call and the rest of the session
	ApprovalRefused     = "refused"
	ApprovalUnavailable = "unavailable"
)

// Verdict is claw-gate's decision about a call. Permit is set if, and only if, Decision is Allow.
type Verdict struct {
	Decision string `json:"decision"`
	Risk     string `json:"risk"`
	Reason   string `json:"reason"`
	Rule     string `json:"rule"`
	Approval string `json:"approval"`
	// Obeyed are the files that the question was about and that other programs obey, relative to the workspace if they
	// are in it.
	Obeyed     []string `json:"obeyed,omitzero"`
	PolicyHash string   `json:"policy_hash"`
	DecidedAt  string   `json:"decided_at"`
	AuditID    string   `json:"audit_id,omitzero"`
	ExpiresAt  string   `json:"expires_at,omitzero"`
	Permit     string   `json:"permit,omitzero"`
}

// Statuses of a ToolResult and of a receipt.
const (
	StatusAllowed = "allowed"
	StatusDenied  = "denied"
	StatusFailed  = "failed"
)

// ToolResult is the outcome of a call. After claw-receipt it has the id of its receipt.
type ToolResult struct {
	V              int        `json:"v"`
	Kind           Kind       `json:"kind"`
	ID             string     `json:"id"`
	RequestID      string     `json:"request_id,omitzero"`
	ConversationID string     `json:"conversation_id,omitzero"`
	TurnID         string     `json:"turn_id,omitzero"`
	TS             string     `json:"ts,omitzero"`
	Tool           string     `json:"tool"`
	Args           Raw        `json:"args"`
	Verdict        *Verdict   `json:"verdict,omitzero"`
	Status         string     `json:"status"`
	Success        bool       `json:"success"`
	Output         string     `json:"output"`
	Error          string     `json:"error,omitzero"`
	Metadata       ResultMeta `json:"metadata,omitzero"`
	ReceiptID      string     `json:"receipt_id,omitzero"`
}

// ResultMeta says how a tool ran. ExitCode is set by tools that run a program. Sandbox names the engine that the
// command ran in, or is SandboxUnavailable; Confinement says what that engine provided. Made are the files in the
// workspace that other programs obey and that the command created without a question.
type ResultMeta struct {
	DurationMS      int64        `json:"duration_ms"`
	Truncated       bool         `json:"truncated"`
	TotalBytes      int64        `json:"total_bytes,omitzero"`
	Withheld        int          `json:"withheld,omitzero"`
	ExitCode        *int         `json:"exit_code,omitzero"`
	TimedOut        bool         `json:"timed_out,omitzero"`
	Sandbox         string       `json:"sandbox,omitzero"`
	Confinement     *Confinement `json:"confinement,omitzero"`
	Made            []string     `json:"made,omitzero"`
	ContentType     string       `json:"content_type,omitzero"`
	HTTPStatus      int          `json:"http_status,omitzero"`
	FinishedAt      string       `json:"finished_at,omitzero"`
	CancelledReason string       `json:"cancelled_reason,omitzero"`
	Permit          string       `json:"permit,omitzero"`
}

// Values of ResultMeta.Permit: why claw-exec refused the permit of a call, which therefore did not run.
const (
	PermitUsed    = "used"
	PermitExpired = "expired"
	PermitInvalid = "invalid"
)

// Confinement says what confined a tool's programs: the mechanism of each guarantee of the sandbox, and the
// guarantees that were missing.
type Confinement struct {
	Kernel       string            `json:"kernel,omitzero"`
	LandlockABI  int               `json:"landlock_abi,omitzero"`
	FilterSHA256 string            `json:"filter_sha256,omitzero"`
	Guarantees   map[string]string `json:"guarantees"`
	Missing      []string          `json:"missing"`
}

// Values of ResultMeta.Sandbox that are not engines.
const (
	SandboxInterpreter = "interpreter"
	SandboxUnavailable = "unavailable"
)

// Stop reasons of a Final.
const (
	StopFinalText     = "final_text"
	StopMaxToolRounds = "max_tool_rounds"
	StopMaxTokens     = "max_tokens"
	StopMaxCost       = "max_cost"
	StopTimeout       = "timeout"
	StopCancelled     = "cancelled"
	StopProviderError = "provider_error"
	StopLength        = "length"
	StopRefusal       = "refusal"
	StopContentFilter = "content_filter"
	StopEmpty         = "empty"
	StopStageError    = "stage_error"
)

// Denial is a call of the turn that was denied, and the rule that denied it.
type Denial struct {
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
	Approval string `json:"approval"`
}

// Final ends a turn. Content is the answer, possibly incomplete if StopReason is not final_text. FinishReason is that
// of the turn's last response.
type Final struct {
	V              int      `json:"v"`
	Kind           Kind     `json:"kind"`
	ID             string   `json:"id"`
	ConversationID string   `json:"conversation_id"`
	TurnID         string   `json:"turn_id"`
	TS             string   `json:"ts,omitzero"`
	Agent          string   `json:"agent,omitzero"`
	Provider       string   `json:"provider,omitzero"`
	Model          string   `json:"model,omitzero"`
	Content        string   `json:"content"`
	Rounds         int      `json:"rounds"`
	StopReason     string   `json:"stop_reason"`
	FinishReason   string   `json:"finish_reason,omitzero"`
	CancelObserved bool     `json:"cancel_observed"`
	Usage          Usage    `json:"usage"`
	Denials        []Denial `json:"denials"`
	Receipts       []string `json:"receipts"`
	// ProjectFile is the project file that the model got in this turn.
	ProjectFile *ProjectFile `json:"project_file,omitzero"`
	// Unconfined says why there was no sandbox, so that a program was not run.
	Unconfined string `json:"unconfined,omitzero"`
	Error      string `json:"error,omitzero"`
	ErrorCode  string `json:"error_code,omitzero"`
	Hint       string `json:"hint,omitzero"`
}

// ProjectFile is a file of the workspace that was in the system prompt, with the hash of the whole file.
type ProjectFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// Conversation describes what the records of a conversation do not say: claw-mem export writes it before them, and
// import reads it. TS is when the conversation began, ArchivedAt when it was archived, or empty.
type Conversation struct {
	V              int    `json:"v"`
	Kind           Kind   `json:"kind"`
	ConversationID string `json:"conversation_id"`
	TS             string `json:"ts,omitzero"`
	Agent          string `json:"agent"`
	ArchivedAt     string `json:"archived_at,omitzero"`
}

// Summary replaces the beginning of a conversation in requests. A model wrote its Content about the turns up to
// ThroughTurnID, which end with the record ThroughRecordID; Turns counts them. The turns themselves are kept. TurnID
// is the turn in which the summary was written; Usage is what writing it cost.
type Summary struct {
	V               int    `json:"v"`
	Kind            Kind   `json:"kind"`
	ID              string `json:"id"`
	ConversationID  string `json:"conversation_id"`
	TurnID          string `json:"turn_id,omitzero"`
	TS              string `json:"ts,omitzero"`
	Agent           string `json:"agent,omitzero"`
	Provider        string `json:"provider,omitzero"`
	Model           string `json:"model,omitzero"`
	Content         string `json:"content"`
	ThroughTurnID   string `json:"through_turn_id"`
	ThroughRecordID string `json:"through_record_id"`
	Turns           int    `json:"turns"`
	Usage           Usage  `json:"usage"`
}

// Error reports a failure of a stage, in place of the record that it could not handle. Ref is the id of the record
// that it is about, if there is one.
type Error struct {
	V              int    `json:"v"`
	Kind           Kind   `json:"kind"`
	Stage          string `json:"stage"`
	Code           string `json:"code"`
	Message        string `json:"message"`
	Hint           string `json:"hint,omitzero"`
	Retryable      bool   `json:"retryable"`
	Ref            string `json:"ref,omitzero"`
	ConversationID string `json:"conversation_id,omitzero"`
	TurnID         string `json:"turn_id,omitzero"`
}

// Reserve asks claw-receipt to reserve room on the disk for receipts, before their calls are sent. claw-receipt sets
// Reserved.
type Reserve struct {
	V        int    `json:"v"`
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"`
	Receipts int    `json:"receipts"`
	Reserved bool   `json:"reserved,omitzero"`
}
