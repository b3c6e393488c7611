package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"clawsh/test/need"
)

// memoryFull is run in namespaces of its own: the memory has a small disk, and the mirrors lie elsewhere. $1 is how
// many bytes of the disk are left, $2 what is to be forgotten.
const memoryFull = `set -e
mkdir -p "$CLAWSH_HOME/memory" "$HOME/w"
mount -t tmpfs -o mode=700,size=6m tmpfs "$CLAWSH_HOME/memory"
cat >"$CLAWSH_HOME/config.toml" <<-END
	workspace_dir = "$HOME/w"
	[memory]
	path = "$CLAWSH_HOME/memory/db"
	[providers.models.local]
	kind = "mock"
	fixture = "$HOME/fixture.jsonl"
END
clawsh init >/dev/null
clawsh -n "my secret is aardvarkzebra" >/dev/null
id=$(clawsh memory list --jq '.data.conversations[0].conversation_id')
i=0
while [ $i -lt 3 ]; do
	i=$((i+1))
	printf '{"v":1,"kind":"user","id":"u%d","conversation_id":"conv-a","content":"%s"}\n' $i "$(head -c 15000 /dev/urandom | base64 -w0)"
done | claw-mem >/dev/null
claw-mem check >/dev/null
dd if=/dev/zero of="$CLAWSH_HOME/memory/junk" bs=1k 2>/dev/null || true
[ "$1" = 0 ] || truncate -s -$1 "$CLAWSH_HOME/memory/junk"
set +e
forget() {
	case $1 in
	clear) claw-mem clear --yes --output-format json ;;
	delete) claw-mem delete $id conv-a --yes --output-format json ;;
	esac
}
forget $2 >said; code=$?
if [ $code != 0 ]; then
	grep -o '"code":"[a-z.]*"' said
	case $(cat said) in
	*memory.full*) # nothing is lost: the memory has it, and so has its mirror
		claw-mem show $id | grep -q aardvarkzebra || echo "the memory has lost it"
		grep -q aardvarkzebra "$CLAWSH_HOME"/agents/default/sessions/$id.jsonl || echo "the mirror has lost it"
		;;
	*memory.unfinished*) # it is deleted everywhere but in what is left of the file
		claw-mem show $id 2>/dev/null | grep -q aardvarkzebra && echo "the memory has it"
		grep -rl aardvarkzebra "$CLAWSH_HOME/agents"
		;;
	*) cat said ;;
	esac
	claw-mem check || echo "check: exit $?"
	rm "$CLAWSH_HOME/memory/junk"
	case $(cat said) in
	*memory.unfinished*) claw-mem check --rebuild >/dev/null || echo "rebuild: exit $?" ;;
	*) forget $2 >/dev/null || echo "again: exit $?" ;;
	esac
fi
grep -rla aardvarkzebra "$CLAWSH_HOME"
echo done
`

// TestForgettingOnAFullDisk: whatever room there is, either nothing is forgotten or everything, mirrors and memory
// agree, and what is not done to the end is said and can be finished.
func TestForgettingOnAFullDisk(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		need.Skip(t, need.Namespaces, "a small disk of our own cannot be made: %v", err)
	}
	forgotten := regexp.MustCompile(`^("code":"memory\.(full|unfinished)"\n\S+: \d conversations, \d entries, 0 problems left\n)?done\n$`)
	for _, what := range []string{"delete", "clear"} {
		for _, room := range []string{"0", "200k", "600k", "2M"} {
			t.Run(what+" "+room, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "fixture.jsonl"), []byte(`{"final_text":"noted"}`+"\n"),
					0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command("unshare", "-rm", "--", "sh", "-c", memoryFull, "sh", room, what)
				cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "CLAWSH_HOME=" + dir + "/.clawsh", "PATH=" + bin + ":" +
					os.Getenv("PATH"), "TMPDIR=" + dir}
				out, err := cmd.CombinedOutput()
				if err != nil || !forgotten.Match(out) {
					t.Errorf("%v\n%s", err, out)
				}
				if failed := bytes.Contains(out, []byte("memory.full")); room == "0" && !failed || room == "2M" &&
					string(out) != "done\n" {
					t.Errorf("with room of %s: %s", room, out)
				}
			})
		}
	}
}
