package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"clawsh/test/need"
)

// receiptsFull is run in namespaces of its own: the receipts have a small disk, which is full while a turn and a single
// tool want to write a file, and has room again afterwards.
const receiptsFull = `set -e
mkdir -p "$CLAWSH_HOME/receipts" "$HOME/w"
mount -t tmpfs -o mode=700,size=400k tmpfs "$CLAWSH_HOME/receipts"
cat >"$CLAWSH_HOME/config.toml" <<-END
	workspace_dir = "$HOME/w"
	[security]
	autonomy = "full"
	[receipts]
	path = "$CLAWSH_HOME/receipts/log"
	[providers.models.local]
	kind = "mock"
	fixture = "$HOME/fixture.jsonl"
END
clawsh init >/dev/null
clawsh -n first >/dev/null
[ -f "$HOME/w/first" ]; [ -f "$HOME/w/second" ]
set +e
truncate -s "$(stat -c %s "$CLAWSH_HOME/receipts/log")" "$CLAWSH_HOME/receipts/log" # what the turn has reserved
dd if=/dev/zero of="$CLAWSH_HOME/receipts/junk" bs=1k 2>/dev/null
clawsh -n full --output-format json >code 2>/dev/null; echo "turn: exit $?"
grep -o '"code":"[a-z.]*"' code
clawsh tool run file_write --json '{"path":"third","content":"x"}' --output-format json >alone 2>&1; echo "tool: exit $?"
grep -o '"code":"[a-z.]*"' alone
printf '%s\n' '{"v":1,"kind":"tool_result","id":"call-1"}' | claw-receipt >/dev/null 2>&1; echo "stage: exit $?"
[ -e "$HOME/w/third" ] && echo ran
rm "$CLAWSH_HOME/receipts/junk"
claw-receipt recover
clawsh tool run file_write --json '{"path":"fourth","content":"x"}' >/dev/null; echo "then: exit $?"
claw-receipt verify --output-format json --jq '"\(.data.count) \(.data.head)"'
`

// TestNothingRunsWithoutRoomForReceipts: with a full disk for receipts a turn runs no tool and says why, and so does a
// single call.
func TestNothingRunsWithoutRoomForReceipts(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		need.Skip(t, need.Namespaces, "a small disk of our own cannot be made: %v", err)
	}
	dir := t.TempDir()
	fixture := `{"when":"any(.messages[]; .role == \"user\" and .content == \"first\")","tool_calls":[{"name":"file_write","args":{"path":"first","content":"x"}},{"name":"file_write","args":{"path":"second","content":"x"}}]}
{"when":"any(.messages[]; .role == \"user\" and .content == \"full\")","tool_calls":[{"name":"file_write","args":{"path":"third","content":"x"}}]}
{"final_text":"done"}
`
	if err := os.WriteFile(filepath.Join(dir, "fixture.jsonl"), []byte(fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-rm", "--", "sh", "-c", receiptsFull)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "CLAWSH_HOME=" + dir + "/.clawsh", "PATH=" + bin + ":" +
		os.Getenv("PATH"), "TMPDIR=" + dir}
	out, err := cmd.CombinedOutput()
	const want = `turn: exit 1
"code":"receipt.failed"
tool: exit 1
"code":"receipt.failed"
stage: exit 1
every allowed call has its receipt
then: exit 0
3 agrees
`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
