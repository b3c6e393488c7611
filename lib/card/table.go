package card

import "clawsh/lib/record"

// toolTimeout bounds most tools.
const toolTimeout = "tool_timeout_s"

// table is the only list of built-in tools.
var table = []Card{
	{Name: "time", Sentence: "Current local time, UTC time and time zone.",
		Does: "tells the time", Risk: record.RiskLow, Timeout: toolTimeout, Origin: Builtin, Args: TimeArgs{}},
	{Name: "file_list", Sentence: "List a directory: bytes and name; directories end in /.",
		Risk: record.RiskLow, Needs: Files, Timeout: toolTimeout, Origin: Builtin, Args: ListArgs{}},
	{Name: "file_read", Sentence: "Read a text file. from_line and lines (numbered output) for parts of big ones.",
		Risk: record.RiskLow, Needs: Files, Timeout: toolTimeout, Origin: Builtin, Args: ReadArgs{}},
	{Name: "file_search",
		Sentence: "Search file contents with an RE2 regex; honours .gitignore, skips binaries. Prints path:line: text.",
		Risk:     record.RiskLow, Needs: Files, Timeout: toolTimeout, Origin: Builtin, Args: SearchArgs{}},
	{Name: "file_edit",
		Sentence: "Replace exact text in a file, edits in order, all or none; returns a diff. old must be unique unless all.",
		Risk:     record.RiskMedium, Needs: Files, Timeout: toolTimeout, Origin: Builtin, Args: EditArgs{}},
	{Name: "file_write",
		Sentence: "Write a whole text file, directories made as needed. To change part of one use file_edit.",
		Risk:     record.RiskMedium, Needs: Files, Timeout: toolTimeout, Origin: Builtin, Args: WriteArgs{}},
	{Name: "shell",
		Sentence: "Run a bash command in the workspace; returns stdout and stderr together. No stdin, no background jobs.",
		Risk:     record.RiskHigh, Needs: Files | Program,
		Timeout: "shell_timeout_s", TimeoutMost: "shell_timeout_max_s", Origin: Builtin, Args: ShellArgs{}},
	{Name: "http", Sentence: "HTTP GET of a text page from an allowed domain.",
		Risk: record.RiskLow, Needs: Network, Timeout: "http_timeout_s", Origin: Builtin, Args: HTTPArgs{}},
	{Name: "memory_search", Sentence: `Search past conversations: words "a phrase" prefix* -without a OR b`,
		Does: "searches the memory", Risk: record.RiskLow, Needs: Memory, Timeout: toolTimeout, Origin: Builtin,
		Args: MemoryArgs{}},
	{Name: "ask_user", Sentence: "Ask the user one question; returns the answer.",
		Does: "asks the user", Risk: record.RiskLow, Needs: Terminal, Timeout: "approval_timeout_s", Origin: Builtin,
		Args: AskArgs{}},
}
