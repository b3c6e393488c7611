// Package seccomp assembles system call filters (seccomp(2), mode filter) and installs them. A filter is data: a list
// of rules about system call numbers and arguments, of which the first match decides. The package does not need cgo.
//
// A Program always begins with checks that no rule can override: a call of another architecture kills the process,
// and so does the x32 ABI on amd64; a number that is newer than this build's table fails with ENOSYS, as on a kernel
// of that age, so that a new system call is never a hole.
package seccomp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// Action is what happens to a system call: a value of SECCOMP_RET_*.
type Action uint32

// Actions; see also Errno.
const (
	Allow       Action = 0x7fff0000
	KillProcess Action = 0x80000000
	// the call waits for an answer from the listener; without a listener it fails with ENOSYS
	Notify Action = 0x7fc00000
)

// Errno returns the action that makes a call fail with an error number.
func Errno(no uint16) Action { return Action(0x00050000 | uint32(no)) }

// Op is how an argument is compared.
type Op int

// Ops. MaskSet matches if any bit of Value is set in the argument, AllSet if all of them are. Zero and NotZero
// compare the whole argument. In matches if the argument is one of Values.
const (
	Equal Op = iota
	NotEqual
	MaskSet
	NotZero
	AllSet
	Zero
	In
)

// Arg compares the lower half of one argument (0 to 5) of a call; Zero and NotZero compare both halves. Where the
// kernel reads an int or unsigned int, the upper half does not matter.
type Arg struct {
	Index  int
	Op     Op
	Value  uint32
	Values []uint32 // of In, at most 200
}

// Rule applies to calls of the given numbers for which all Args match.
type Rule struct {
	Syscalls []uintptr
	Args     []Arg
	Action   Action
}

// Filter is a list of rules, of which the first match decides; Default applies if none matches.
type Filter struct {
	Default Action
	Rules   []Rule
}

// Program is an assembled filter.
type Program []bpf.RawInstruction

// maxProgram is how many instructions the kernel accepts (BPF_MAXINSNS).
const maxProgram = 4096

// Offsets in struct seccomp_data, for little-endian machines, the only ones supported.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// errUnsupported means that there is no table of system calls for this machine.
var errUnsupported = errors.New("seccomp: no table of system calls for this machine")

// Assemble compiles a filter for this machine.
func (f Filter) Assemble() (Program, error) {
	if auditArch == 0 {
		return nil, errUnsupported
	}
	code := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(KillProcess)},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
	}
	if x32Bit != 0 {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1},
			bpf.RetConstant{Val: uint32(KillProcess)})
	}
	code = append(code, bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lastSyscall, SkipFalse: 1},
		bpf.RetConstant{Val: uint32(Errno(enosys))})
	spans, err := f.spans()
	if err != nil {
		return nil, err
	}
	code = append(code, search(spans)...)
	if len(code) > maxProgram {
		return nil, fmt.Errorf("seccomp: %d instructions are more than a kernel takes", len(code))
	}
	return bpf.Assemble(code)
}

// span is the code for calls from a number up to the next span.
type span struct {
	from uint32
	code []bpf.Instruction
}

// spans are the spans of all calls that this build knows. Neighbours that meet the same rules share one.
func (f Filter) spans() ([]span, error) {
	bodies := make([][]bpf.Instruction, len(f.Rules))
	met := make([][]int, lastSyscall+1) // for each number the rules in order, until one always matches
	ended := make([]bool, lastSyscall+1)
	for i, r := range f.Rules {
		var err error
		if bodies[i], err = r.body(); err != nil {
			return nil, err
		}
		for _, nr := range r.Syscalls {
			if nr <= lastSyscall && !ended[nr] {
				met[nr], ended[nr] = append(met[nr], i), len(r.Args) == 0
			}
		}
	}
	var out []span
	for nr, rules := range met {
		if nr > 0 && slices.Equal(rules, met[nr-1]) {
			continue
		}
		s := span{from: uint32(nr)}
		for _, i := range rules {
			s.code = append(s.code, bodies[i]...)
		}
		if !ended[nr] {
			s.code = append(s.code, bpf.RetConstant{Val: uint32(f.Default)})
		}
		// Different rules with the same verdict share a span, too.
		if len(out) == 0 || !slices.Equal(out[len(out)-1].code, s.code) {
			out = append(out, s)
		}
	}
	return out, nil
}

// search finds the span of the number in the accumulator by bisection: the kernel tries every number when the filter
// is installed.
func search(spans []span) []bpf.Instruction {
	if len(spans) == 1 {
		return spans[0].code
	}
	half := len(spans) / 2
	left, right := search(spans[:half]), search(spans[half:])
	var out []bpf.Instruction
	if len(left) <= 255 { // as far as a jump reaches
		out = append(out, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: spans[half].from, SkipTrue: uint8(len(left))})
	} else {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: spans[half].from, SkipFalse: 1},
			bpf.Jump{Skip: uint32(len(left))})
	}
	return append(append(out, left...), right...)
}

// body is the code of one rule: it returns the verdict if all arguments match, and otherwise continues after its end.
func (r Rule) body() ([]bpf.Instruction, error) {
	body := []bpf.Instruction{}
	for _, a := range r.Args {
		if a.Index < 0 || a.Index > 5 {
			return nil, fmt.Errorf("seccomp: a call has no argument %d", a.Index)
		}
		if len(a.Values) > mostValues || a.Op == In && len(a.Values) == 0 {
			return nil, fmt.Errorf("seccomp: values that an argument is compared with: %d", len(a.Values))
		}
		body = append(body, a.test()...)
	}
	body = append(body, bpf.RetConstant{Val: uint32(r.Action)})
	if len(body) > 250 { // as far as a jump reaches
		return nil, fmt.Errorf("seccomp: instructions of a rule: %d", len(body))
	}
	for i, ins := range body {
		if j, ok := ins.(bpf.JumpIf); ok {
			to := uint8(len(body) - 1 - i)
			if j.SkipTrue == fails {
				j.SkipTrue = to
			}
			if j.SkipFalse == fails {
				j.SkipFalse = to
			}
			body[i] = j
		}
	}
	return body, nil
}

// fails marks a jump to the end of the rule. No comparison is that long.
const fails = 255

// mostValues is how many values an argument can be compared with.
const mostValues = 200

// test falls through if the comparison matches.
func (a Arg) test() []bpf.Instruction {
	low, high := uint32(offsetArgs+8*a.Index), uint32(offsetArgs+8*a.Index+4)
	load := bpf.LoadAbsolute{Off: low, Size: 4}
	switch a.Op {
	case NotEqual:
		return []bpf.Instruction{load, bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Value, SkipTrue: fails}}
	case MaskSet:
		return []bpf.Instruction{load, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: a.Value, SkipFalse: fails}}
	case AllSet:
		return []bpf.Instruction{load, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: a.Value},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Value, SkipFalse: fails}}
	case Zero:
		return []bpf.Instruction{load, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: fails},
			bpf.LoadAbsolute{Off: high, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: fails}}
	case In:
		out := []bpf.Instruction{load}
		for i, v := range a.Values {
			j := bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(a.Values) - 1 - i)}
			if i == len(a.Values)-1 {
				j.SkipFalse = fails
			}
			out = append(out, j)
		}
		return out
	case NotZero:
		return []bpf.Instruction{load, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
			bpf.LoadAbsolute{Off: high, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: fails}}
	}
	return []bpf.Instruction{load, bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Value, SkipFalse: fails}}
}

// Hash returns the program's SHA-256 in hex: programs with the same hash are equal.
func (p Program) Hash() string {
	h := sha256.New()
	for _, i := range p {
		h.Write([]byte{byte(i.Op), byte(i.Op >> 8), i.Jt, i.Jf, byte(i.K), byte(i.K >> 8), byte(i.K >> 16),
			byte(i.K >> 24)})
	}
	return hex.EncodeToString(h.Sum(nil))
}
