package test

import (
	"strings"
	"testing"
)

// TestMisspelledCommands: whatever command of a group is misspelled, the one that was meant is suggested, as it is
// typed.
func TestMisspelledCommands(t *testing.T) {
	h := newHome(t)
	for _, program := range binaries(t) {
		for _, row := range commandTable(t, h, program) {
			name := strings.TrimSpace(program + " " + row.Name)
			words := strings.Fields(name)
			last := words[len(words)-1]
			if len(words) < 2 || len(last) < 4 {
				continue
			}
			words[len(words)-1] = last[:1] + last[2:]
			_, errOut, code := h.run(t, append(words, "--output-format", "text")...)
			if want := "did you mean " + name + "?"; code != 64 || !strings.Contains(errOut, want) {
				t.Errorf("%v: exit %d, want %q: %s", words, code, want, errOut)
			}
		}
	}
}

// TestHelpOfHandedOver: help of a command that belongs to a stage shows the flags that the stage has for it.
func TestHelpOfHandedOver(t *testing.T) {
	h := newHome(t)
	for _, row := range commandTable(t, h, "clawsh") {
		if !row.HandOver {
			continue
		}
		words := strings.Fields(row.Name)
		asked, _, code := h.run(t, append([]string{"clawsh", "help"}, words...)...)
		flag, _, _ := h.run(t, append(append([]string{"clawsh"}, words...), "--help")...)
		if code != 0 || asked != flag || !strings.Contains(asked, "usage: clawsh "+row.Name) {
			t.Errorf("clawsh help %s: exit %d:\n%s\nand not\n%s", row.Name, code, asked, flag)
		}
	}
}
