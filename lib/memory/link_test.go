package memory

import (
	"os/exec"
	"strings"
	"testing"
)

// The one program that links SQLite must not be able to start programs or talk to a network.
func TestLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		switch dep {
		case "net", "net/http", "os/exec", "crypto/tls":
			t.Errorf("links %s", dep)
		}
	}
}
