package card

import (
	"errors"
	"slices"
)

// TimeArgs are the arguments of time.
type TimeArgs struct{}

// ListArgs are the arguments of file_list.
type ListArgs struct {
	Path       *string `json:"path" role:"read" text:"default: ."`
	Recursive  bool    `json:"recursive"`
	MaxEntries *int    `json:"max_entries" want:"1..1000" text:"default 200, at most 1000"`
}

// ReadArgs are the arguments of file_read: lines, or bytes, which are still accepted but no longer offered.
type ReadArgs struct {
	Path     string `json:"path" role:"result" arg:"required"`
	FromLine *int64 `json:"from_line" want:"1.."`
	Lines    *int64 `json:"lines" want:"1.."`
	Offset   *int64 `json:"offset" want:"0.." arg:"hidden"`
	Limit    *int64 `json:"limit" want:"1.." arg:"hidden"`
}

// ByLines reports whether the call asks for certain lines of the file.
func (a ReadArgs) ByLines() bool { return a.FromLine != nil || a.Lines != nil }

// ByBytes reports whether the call asks for certain bytes of the file.
func (a ReadArgs) ByBytes() bool { return a.Offset != nil || a.Limit != nil }

// SearchArgs are the arguments of file_search.
type SearchArgs struct {
	Pattern    string `json:"pattern" arg:"required"`
	Path       string `json:"path" role:"result" text:"default: ."`
	Glob       string `json:"glob" text:"such as *.go or src/**/*.{c,h}"`
	IgnoreCase bool   `json:"ignore_case"`
	Context    int    `json:"context" want:"0..10"`
	Limit      *int   `json:"limit" want:"1..1000" text:"default 100, at most 1000"`
}

// EditArgs are the arguments of file_edit.
type EditArgs struct {
	Path  string `json:"path" role:"write" arg:"required"`
	Edits []Edit `json:"edits" arg:"required"`
}

// Edit replaces Old, which must occur exactly once, or wherever it occurs with All.
type Edit struct {
	Old string  `json:"old" arg:"required"`
	New *string `json:"new" arg:"required"` // nil is a mistake: deletion must be written as ""
	All bool    `json:"all,omitzero"`
}

func (a EditArgs) check() error {
	switch {
	case len(a.Edits) == 0:
		return missing("edits")
	case slices.ContainsFunc(a.Edits, func(e Edit) bool { return e.New == nil }):
		return missing("new")
	}
	return nil
}

// WriteArgs are the arguments of file_write.
type WriteArgs struct {
	Path    string `json:"path" role:"write" arg:"required"`
	Content string `json:"content" arg:"required"`
	Mode    string `json:"mode" want:"overwrite|create|append"`
}

func (a WriteArgs) check() error {
	if !slices.Contains([]string{"", "overwrite", "create", "append"}, a.Mode) {
		return errors.New("mode: want overwrite, create or append")
	}
	return nil
}

// ShellArgs are the arguments of shell.
type ShellArgs struct {
	Command  string      `json:"command" role:"script" arg:"required"`
	TimeoutS *float64    `json:"timeout_s" text:"default {shell_timeout_s}, at most {shell_timeout_max_s}"`
	Network  *[]string   `json:"network" role:"connect" arg:"hidden"`
	Sandbox  *SandboxAsk `json:"sandbox" arg:"hidden"`
}

// SandboxAsk is what a shell call may ask of the sandbox: only more restrictions.
type SandboxAsk struct {
	Layout        string `json:"layout"`
	Deterministic bool   `json:"deterministic"`
	MemoryBytes   *int64 `json:"memory_bytes"`
	Processes     *int   `json:"processes"`
	CPUSeconds    *int   `json:"cpu_s"`
}

// Check returns an error for values that make no sense.
func (a *SandboxAsk) Check() error {
	switch {
	case a == nil:
	case a.Layout != "" && a.Layout != "open" && a.Layout != "staged":
		return errors.New("sandbox.layout: want open or staged")
	case a.MemoryBytes != nil && *a.MemoryBytes < 16<<20:
		return errors.New("sandbox.memory_bytes: want 16777216 or more: a program without this limit is not started")
	case a.Processes != nil && *a.Processes < 4:
		return errors.New("sandbox.processes: want 4 or more: a program without this limit is not started")
	case a.CPUSeconds != nil && *a.CPUSeconds < 1:
		return errors.New("sandbox.cpu_s: want 1 or more: a program without this limit is not started")
	}
	return nil
}

// HTTPArgs are the arguments of http.
type HTTPArgs struct {
	URL    string  `json:"url" role:"address" arg:"required"`
	Method *string `json:"method" arg:"hidden"`
}

func (a HTTPArgs) check() error {
	if a.Method != nil && *a.Method != "GET" {
		return errors.New("method: only GET is supported")
	}
	return nil
}

// MemoryArgs are the arguments of memory_search.
type MemoryArgs struct {
	Query          string `json:"query" arg:"required"`
	Limit          *int   `json:"limit" want:"1..20"`
	Role           string `json:"role" want:"user|assistant|tool"`
	Tool           string `json:"tool"`
	ConversationID string `json:"conversation_id"`
	Since          string `json:"since" text:"date or age: 7d"`
	Until          string `json:"until"`
}

// AskArgs are the arguments of ask_user.
type AskArgs struct {
	Question string `json:"question" arg:"required"`
}
