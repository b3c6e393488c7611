package test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// fakes are tokens of every shape that is withheld. They are put together here so that nobody takes them for real ones.
func fakes() []string {
	fake := func(n int) string { return strings.Repeat("fAk3T0kEn", n/9+1)[:n] }
	block := func(kind string) string {
		return "-----BEGIN " + kind + "PRIVATE" + " KEY-----\n" + fake(64) + "\n" + fake(64) + "\n-----END " + kind +
			"PRIVATE KEY-----"
	}
	return []string{
		"sk-" + "ant-api03-" + fake(60), "sk-" + "proj-" + fake(60), "sk-" + fake(48), "gh" + "p_" + fake(36),
		"gh" + "o_" + fake(36), "github" + "_pat_" + fake(60),
		"gl" + "pat-" + fake(20), "xo" + "xb-444444-" + fake(24), "AK" + "IA" + strings.ToUpper(fake(16)),
		"aws_secret_" + "access_key=" + fake(40), "AI" + "za" + fake(35),
		"sk" + "_live_" + fake(24), "rk" + "_live_" + fake(24), "np" + "m_" + fake(36), "py" + "pi-AgE" + fake(80),
		"ey" + "J" + fake(20) + ".ey" + "J" + fake(20) + "." + fake(20),
		block(""), block("OPENSSH "), block("RSA "), strings.ReplaceAll(`{"private_key":"`+block(""), "\n", `\n`) +
			`\n"}`,
		"Authorization: " + "Bearer " + fake(30), "https://me:" + fake(12) + "@host.example/", "AGE-SECRET-" + "KEY-1" +
			strings.ToUpper(fake(58)), "h" + "f_" + fake(34),
		"S" + "G." + fake(22) + "." + fake(43), "123456789" + ":AA" + fake(33), "dop" + "_v1_" +
			strings.Repeat("fa", 32), "machine a.example login me password " + fake(9),
		"clawsh-permit-" + "key-v1 " + fake(43) + "=",
	}
}

// writeFakes: fakes FILE — writes a file with a fake token of each shape, and the text $PLANTED.
func writeFakes(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.Join(append(fakes(), "planted: "+ts.Getenv("PLANTED")), "\n") + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// nowhere: nowhere PATH… — no file there, nor the last output, holds a part of a fake token or of $PLANTED.
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	parts := []string{"fAk3", "FAK3", "fafafafa"}
	if p := ts.Getenv("PLANTED"); p != "" {
		parts = append(parts, p)
	}
	check := func(name string, b []byte) {
		for _, part := range parts {
			if bytes.Contains(b, []byte(part)) {
				ts.Fatalf("%s holds %q", name, part)
			}
		}
	}
	for _, arg := range args {
		if arg == "stdout" || arg == "stderr" {
			check(arg, []byte(ts.ReadFile(arg)))
			continue
		}
		files := 0
		ts.Check(filepath.WalkDir(ts.MkAbs(arg), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == "fixture.jsonl" { // what the model is to say
				return err
			}
			files++
			b, err := os.ReadFile(path)
			check(path, b)
			return err
		}))
		if files == 0 {
			ts.Fatalf("there is nothing in %s", arg)
		}
	}
}
