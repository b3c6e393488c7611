package policy

import (
	"slices"
	"testing"
)

// Every entry of the table holds for its own examples.
func TestProgramsHoldTheirExamples(t *testing.T) {
	if err := CheckPrograms(); err != nil {
		t.Error(err)
	}
	for _, p := range programs {
		if len(p.match) == 0 || len(p.notMatch) == 0 {
			t.Errorf("%s has no examples of both kinds", p.name)
		}
	}
	names := []string{}
	for name := range compiled() {
		names = append(names, name)
	}
	if len(names) < 80 || slices.Contains(names, "sh") {
		t.Errorf("%d programs are in the table", len(names))
	}
}
