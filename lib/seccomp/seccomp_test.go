package seccomp

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/net/bpf"

	"clawsh/test/need"
)

// run runs a filter in a virtual machine that reads words in network order.
func run(t *testing.T, f Filter, arch, number uint32, args ...uint64) Action {
	t.Helper()
	return machine(t, f)(arch, number, args...)
}

// machine is such a machine.
func machine(t *testing.T, f Filter) func(arch, number uint32, args ...uint64) Action {
	t.Helper()
	p, err := f.Assemble()
	if err != nil {
		need.Skip(t, need.Seccomp, "%v", err)
	}
	code, ok := bpf.Disassemble(p)
	if !ok {
		t.Fatal("the program cannot be disassembled")
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	return func(arch, number uint32, args ...uint64) Action {
		t.Helper()
		return judged(t, vm, arch, number, args)
	}
}

func judged(t *testing.T, vm *bpf.VM, arch, number uint32, args []uint64) Action {
	t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], number)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return Action(got)
}

func TestFirstRuleDecides(t *testing.T) {
	many := []uintptr{}
	for i := uintptr(100); i < 350; i++ {
		many = append(many, i)
	}
	f := Filter{Default: Allow, Rules: []Rule{
		{Syscalls: []uintptr{1}, Args: []Arg{{Index: 0, Op: Equal, Value: 2}}, Action: Allow},
		{Syscalls: []uintptr{1, 3}, Action: Errno(13)},
		{Syscalls: []uintptr{4}, Args: []Arg{{Index: 1, Op: MaskSet, Value: 0o6000}}, Action: Errno(1)},
		{Syscalls: []uintptr{5}, Args: []Arg{{Index: 2, Op: NotZero, Value: 0}}, Action: Errno(2)},
		{Syscalls: []uintptr{6}, Args: []Arg{{Index: 0, Op: NotEqual, Value: 1}}, Action: Errno(3)},
		{Syscalls: []uintptr{7}, Args: []Arg{{Index: 0, Op: Equal, Value: 1}, {Index: 5, Op: Equal, Value: 9}},
			Action: Errno(4)},
		{Syscalls: []uintptr{8}, Args: []Arg{{Index: 1, Op: AllSet, Value: 3}}, Action: Errno(6)},
		{Syscalls: []uintptr{9}, Args: []Arg{{Index: 4, Op: Zero}}, Action: Errno(7)},
		{Syscalls: []uintptr{10}, Args: []Arg{{Index: 0, Op: Equal, Value: 1},
			{Index: 1, Op: In, Values: []uint32{5, 6, 9}}}, Action: Errno(8)},
		{Syscalls: []uintptr{11}, Args: []Arg{{Index: 1, Op: In, Values: []uint32{5}}}, Action: Errno(9)},
		{Syscalls: many, Args: []Arg{{Index: 0, Op: Equal, Value: 1}}, Action: Errno(5)},
	}}
	for _, c := range []struct {
		number uint32
		args   []uint64
		want   Action
	}{
		{0, nil, Allow}, {1, []uint64{2}, Allow}, {1, []uint64{3}, Errno(13)}, {3, []uint64{2}, Errno(13)},
		{2, nil, Allow},
		{4, []uint64{0, 0o755}, Allow}, {4, []uint64{0, 0o4755}, Errno(1)}, {4, []uint64{0, 0o2000}, Errno(1)},
		{5, []uint64{0, 0, 0}, Allow}, {5, []uint64{0, 0, 1}, Errno(2)}, {5, []uint64{0, 0, 1 << 40}, Errno(2)},
		{6, []uint64{1}, Allow}, {6, []uint64{0}, Errno(3)}, {6, []uint64{2}, Errno(3)},
		{7, []uint64{1, 0, 0, 0, 0, 9}, Errno(4)}, {7, []uint64{1}, Allow}, {7, []uint64{0, 0, 0, 0, 0, 9}, Allow},
		{8, []uint64{0, 3}, Errno(6)}, {8, []uint64{0, 7}, Errno(6)}, {8, []uint64{0, 2}, Allow},
		{8, []uint64{0, 1}, Allow}, {8, nil, Allow},
		{9, nil, Errno(7)}, {9, []uint64{0, 0, 0, 0, 1}, Allow}, {9, []uint64{0, 0, 0, 0, 1 << 32}, Allow},
		{10, []uint64{1, 5}, Errno(8)}, {10, []uint64{1, 6}, Errno(8)}, {10, []uint64{1, 9}, Errno(8)},
		{10, []uint64{1, 7}, Allow}, {10, []uint64{0, 5}, Allow},
		{11, []uint64{0, 5}, Errno(9)}, {11, []uint64{0, 4}, Allow},
		{100, []uint64{1}, Errno(5)}, {199, []uint64{1}, Errno(5)}, {200, []uint64{1}, Errno(5)},
		{349, []uint64{1}, Errno(5)},
		{349, []uint64{2}, Allow}, {350, []uint64{1}, Allow}, {lastSyscall, nil, Allow},
		{lastSyscall + 1, nil, Errno(enosys)}, {1 << 29, nil, Errno(enosys)},
	} {
		if got := run(t, f, auditArch, c.number, c.args...); got != c.want {
			t.Errorf("call %d%v: %#x, want %#x", c.number, c.args, got, c.want)
		}
	}
	if got := run(t, f, 0x40000003, 0); got != KillProcess { // i386
		t.Errorf("another architecture: %#x", got)
	}
	if got := run(t, f, auditArch, 0x40000000|1); x32Bit != 0 && got != KillProcess {
		t.Errorf("x32: %#x", got)
	}
}

func TestAssembleRefuses(t *testing.T) {
	if _, err := (Filter{Rules: []Rule{{Syscalls: []uintptr{1}, Args: []Arg{{Index: 6, Op: Equal, Value: 0}}}}}).
		Assemble(); err == nil {
		t.Error("an argument that no call has")
	}
	for _, n := range []int{0, mostValues + 1} {
		in := Arg{Op: In, Values: make([]uint32, n)}
		if _, err := (Filter{Rules: []Rule{{Syscalls: []uintptr{1}, Args: []Arg{in}}}}).Assemble(); err == nil {
			t.Errorf("a comparison with %d values", n)
		}
	}
	full := Arg{Op: In, Values: make([]uint32, mostValues)}
	if _, err := (Filter{Rules: []Rule{{Syscalls: []uintptr{1}, Args: []Arg{full, full}}}}).Assemble(); err == nil {
		t.Error("a rule that no jump crosses")
	}
	rules := make([]Rule, 3000)
	for i := range rules {
		rules[i] = Rule{Syscalls: []uintptr{1}, Args: []Arg{{Op: Equal, Value: uint32(i)}}}
	}
	if _, err := (Filter{Rules: rules}).Assemble(); err == nil {
		t.Error("a program that no kernel takes")
	}
	if err := (Program{}).Install(false); err == nil {
		t.Error("an empty program was installed")
	}
}

// A filter by halves judges every number as a walk through the rules does.
func TestSearchAgreesWithTheRules(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f := Filter{Default: Errno(1)}
		for range 1 + random.IntN(60) {
			r := Rule{Action: []Action{Allow, Errno(2), Errno(3), Notify}[random.IntN(4)]}
			for range 1 + random.IntN(80) {
				r.Syscalls = append(r.Syscalls, uintptr(random.IntN(lastSyscall+1)))
			}
			if random.IntN(2) == 0 {
				r.Args = []Arg{{Index: random.IntN(6), Op: Equal, Value: uint32(random.IntN(3))}}
			}
			f.Rules = append(f.Rules, r)
		}
		judge := machine(t, f)
		for nr := range uint32(lastSyscall + 1) {
			arg := uint64(random.IntN(3))
			want := f.Default
			for _, r := range f.Rules {
				if slices.Contains(r.Syscalls, uintptr(nr)) && (len(r.Args) == 0 || uint64(r.Args[0].Value) == arg) {
					want = r.Action
					break
				}
			}
			if got := judge(auditArch, nr, arg, arg, arg, arg, arg, arg); got != want {
				t.Fatalf("call %d with %d: %#x, want %#x", nr, arg, got, want)
			}
		}
	}
}
