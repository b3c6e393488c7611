package command

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"clawsh/lib/envelope"
	"clawsh/lib/secret"
)

const planted = "pl4nted-V4lue"

// TestSecretsAreNeitherPrintedNorLogged runs commands that say a secret in each way that a command has.
func TestSecretsAreNeitherPrintedNorLogged(t *testing.T) {
	say := func(c *Call) (Result, error) {
		c.Log.Error("it is "+planted, "error", errors.New(planted), slog.Group("g", "a", []string{planted}))
		return answer{planted}, nil
	}
	commands := []Command{{Name: "say", Summary: "s", Example: "e",
		Run: func(_ context.Context, c *Call) (Result, error) { return say(c) }},
		{Name: "fail", Summary: "s", Example: "e", Run: func(_ context.Context, c *Call) (Result, error) {
			say(c)
			return answer{planted}, envelope.Errorf(1, "it.failed", "it is %s", planted).WithHint("try %s", planted)
		}}}
	for _, name := range []string{"say", "fail"} {
		for _, env := range []string{"CLAWSH_LOG=text", "CLAWSH_LOG=json"} {
			for _, format := range [][]string{nil, {"--output-format=json"}, {"--jq=.data.value"}} {
				var out, errOut bytes.Buffer
				App{Name: "prog", Commands: commands}.Run(t.Context(), append([]string{name}, format...),
					strings.NewReader(""), &out, &errOut,
					[]string{env, "A_TOKEN=" + planted})
				both := out.String() + errOut.String()
				if strings.Contains(both, planted) ||
					!strings.Contains(errOut.String(), "[withheld: value of A_TOKEN]") ||
					strings.Count(both, "[withheld") < 3 {
					t.Errorf("%s %v %s: %s", name, format, env, both)
				}
			}
		}
	}
}

func TestWithholdFromJSON(t *testing.T) {
	c := &Call{Secrets: secret.New([]string{"A_TOKEN=" + planted})}
	aws := strings.Repeat("fAk3", 10)
	for raw, want := range map[string]string{
		`{"a" : 1.50,"b":"x"}`:                           `{"a" : 1.50,"b":"x"}`,
		`{"a" : 1.50,"b":["` + planted + `",null]}`:      `{"a":1.50,"b":["[withheld: value of A_TOKEN]",null]}`,
		`{"\u0070l4nted-V4lue":"\u0070l4nted-V4lue \/"}`: `{"[withheld: value of A_TOKEN]":"[withheld: value of A_TOKEN] /"}`,
		`{"SecretAccessKey":"` + aws + `"}`:              `{"SecretAccessKey":"[withheld: aws secret key]"}`,
		`{"h":{"Authorization":"Basic abcdefgh"}}`:       `{"h":{"Authorization":"Basic [withheld: authorization]"}}`,
	} {
		if got, err := c.Withhold([]byte(raw)); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", raw, got, err, want)
		}
	}
	for _, bad := range []string{``, `{`, `{"` + planted + `":1,"\u0070l4nted-V4lue":2}`, `{} {`} {
		if got, err := c.Withhold([]byte(bad)); err == nil && bad != "" {
			t.Errorf("%s became %s", bad, got)
		}
	}
}
