package test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"clawsh/test/need"
)

// disks is run in namespaces of its own, where disks can be small, full and read-only.
const disks = `set -e
umask 077
mkdir -p "$CLAWSH_HOME/receipts"
printf '[security]\nsandbox = "off"\n[receipts]\npath = "%s/receipts/log"\n' "$CLAWSH_HOME" >"$CLAWSH_HOME/config.toml"
clawsh init >/dev/null
set +e
look() { echo "== $1"; clawsh doctor 2>/dev/null | sed -n 's/^disk  *//p'; }
look large
mount -t tmpfs -o mode=700,size=1m tmpfs "$CLAWSH_HOME/receipts"
look small
dd if=/dev/zero of="$CLAWSH_HOME/receipts/junk" bs=1k 2>/dev/null
look full
rm "$CLAWSH_HOME/receipts/junk"
mount -o remount,ro "$CLAWSH_HOME/receipts"
look readonly
echo "== left"
cd "$CLAWSH_HOME/receipts" && ls -A | grep doctor
`

// TestDoctorLooksAtTheDisks: a disk that is small, full or read-only is named, and nothing is left on it.
func TestDoctorLooksAtTheDisks(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		need.Skip(t, need.Namespaces, "a small disk of our own cannot be made: %v", err)
	}
	dir := t.TempDir()
	cmd := exec.Command("unshare", "-rm", "--", "sh", "-c", disks)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "CLAWSH_HOME=" + dir + "/.clawsh", "PATH=" + bin + ":" +
		os.Getenv("PATH"), "TMPDIR=" + dir}
	out, _ := cmd.CombinedOutput()
	text, place := string(out), dir+"/.clawsh/receipts"
	for part, want := range map[string]string{"large": "ok +" + place + ": ", "small": "wrong +" + place +
		" has 1 MB left",
		"full": "wrong +nothing can be written in " + place + ": ", "readonly": "wrong +nothing can be written in " +
			place + ": "} {
		_, found, _ := strings.Cut(text, "== "+part+"\n")
		found, _, _ = strings.Cut(found, "== ")
		if !regexp.MustCompile(want).MatchString(found) {
			t.Errorf("%s: want %q in\n%s", part, want, found)
		}
	}
	if _, left, _ := strings.Cut(text, "== left\n"); left != "" {
		t.Errorf("left on the disk: %s", left)
	}
}
