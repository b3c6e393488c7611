package record

import "math"

// User is a message from a person, a script or a schedule: what claw-loop reads.
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

// Message is one message of a conversation. Role is user, assistant or tool. Original, of an assistant message, is the message
// as its provider sent it.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []CallPart `json:"tool_calls,omitzero"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
	IsError    bool       `json:"is_error,omitzero"`
	Original   *Original  `json:"original,omitzero"`
}

// Original is an assistant message as a provider sent it, with fields that only that provider knows: some servers refuse the
// next request without them. It goes back to the provider of that name alone. Dialect says which protocol the message is of.
type Original struct {
	Provider string `json:"provider"`
	Dialect  string `json:"dialect"`
	Message  Raw    `json:"message"`
}

// DialectChat is the dialect of /chat/completions.
const DialectChat = "chat"

// CallPart is a tool call inside a message or a response. Args is normally an object; arguments that a model got wrong
// are kept as a JSON string, as they are, and refused by the gate. ProviderCallID is the id that the provider knows the call by.
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

// Delta is a piece of text of a response that is being streamed.
type Delta struct {
	V              int    `json:"v"`
	Kind           Kind   `json:"kind"`
	RequestID      string `json:"request_id"`
	ConversationID string `json:"conversation_id,omitzero"`
	TurnID         string `json:"turn_id,omitzero"`
	Text           string `json:"text"`
}

// Usage counts tokens as the provider reports them; zero where it does not.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Add returns the sum of both. It does not overflow: what a provider reports is taken from strangers.
func (u Usage) Add(o Usage) Usage {
	return Usage{InputTokens: addTokens(u.InputTokens, o.InputTokens), OutputTokens: addTokens(u.OutputTokens, o.OutputTokens)}
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

// Finish reasons of a Response. The calls of an answer that ended by one of the last three are not made.
const (
	FinishStop          = "stop"
	FinishToolCalls     = "tool_calls"
	FinishLength        = "length"
	FinishContentFilter = "content_filter"
	FinishRefusal       = "refusal"
)

// Response is what a provider answered. Reasoning is what the model thought before the answer, where the provider shows it;
// CallsCut is how many calls an answer held that was cut off: they are not among ToolCalls.
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

// ToolCall asks for one tool to be run. Behind claw-gate it carries a Verdict.
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
	Repaired       string   `json:"repaired,omitzero"` // what claw-llm mended of the name or the arguments
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

// Verdict is what claw-gate decided about a call. Permit is set if, and only if, Decision is Allow.
type Verdict struct {
	Decision string `json:"decision"`
	Risk     string `json:"risk"`
	Reason   string `json:"reason"`
	Rule     string `json:"rule"`
	Approval string `json:"approval"`
	// Obeyed are the files that other programs obey and that the question was about, relative to the workspace if they lie in it.
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

// ToolResult is what became of a call. Behind claw-receipt it carries the id of its receipt.
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

// ResultMeta says how a tool ran. ExitCode is set by tools that run a program. Sandbox names the engine that its programs
// ran in, interpreter if it started none, unavailable if none could be set up; Confinement says what that one gave. Made are
// files below the workspace that other programs obey, that programs made, and that no question was about.
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

// Confinement is what was in force around a tool's programs: for each guarantee of the sandbox the mechanism, and which
// guarantees were missing.
type Confinement struct {
	Kernel       string            `json:"kernel,omitzero"`
	LandlockABI  int               `json:"landlock_abi,omitzero"`
	FilterSHA256 string            `json:"filter_sha256,omitzero"`
	Guarantees   map[string]string `json:"guarantees"`
	Missing      []string          `json:"missing"`
}

// Values of ResultMeta.Sandbox that name no engine.
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

// Denial names a call of the turn that was denied, and by which rule.
type Denial struct {
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Rule     string `json:"rule"`
	Reason   string `json:"reason"`
	Approval string `json:"approval"`
}

// Final ends a turn. Content is the answer, or what there is of it if StopReason is not final_text. FinishReason is that of the
// turn's last response.
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
	// ProjectFile is what the project told the model about itself in this turn.
	ProjectFile *ProjectFile `json:"project_file,omitzero"`
	// Unconfined is why a program was not run for want of a sandbox.
	Unconfined string `json:"unconfined,omitzero"`
	Error      string `json:"error,omitzero"`
	ErrorCode  string `json:"error_code,omitzero"`
	Hint       string `json:"hint,omitzero"`
}

// ProjectFile names a file of the workspace that stood in the system prompt, and the hash of all of it.
type ProjectFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// Conversation says of a conversation what its records do not: claw-mem's export writes it before the first of them, and its
// import reads it. TS is when it began, ArchivedAt when it was put away, empty if it was not.
type Conversation struct {
	V              int    `json:"v"`
	Kind           Kind   `json:"kind"`
	ConversationID string `json:"conversation_id"`
	TS             string `json:"ts,omitzero"`
	Agent          string `json:"agent"`
	ArchivedAt     string `json:"archived_at,omitzero"`
}

// Summary stands for the beginning of a conversation when a model is asked: Content, which a model wrote, for the turns up to
// ThroughTurnID, whose records end with ThroughRecordID, Turns of them. What it stands for is kept. TurnID is the turn in which
// it was written; Usage is what writing it took.
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

// Error reports a failure of a stage, in the place of the record that it could not handle. Ref is the id of the record
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

// Reserve asks for room on the disk for so many receipts, before the calls that they are of are sent. Reserved is set by the stage
// that has made it.
type Reserve struct {
	V        int    `json:"v"`
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"`
	Receipts int    `json:"receipts"`
	Reserved bool   `json:"reserved,omitzero"`
}
