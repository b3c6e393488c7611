package turn

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"clawsh/lib/config"
	"clawsh/lib/envelope"
)

// parse declares the flags and parses arguments.
func parse(args ...string) (*Options, func(string) bool, error) {
	var o Options
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Flags(f)
	return &o, f.Changed, f.Parse(args)
}

// sample is an argument that is not the default of a flag.
func sample(f *pflag.Flag) string {
	return map[string]string{"string": "x y=z", "bool": "true", "int": "7", "int64": "4611686018427387905",
		"float64": "0.1", "duration": "1m30.5s"}[f.Value.Type()]
}

// TestEveryFlagIsHandedOn: whatever is said to one program is said to the next, flag by flag and all at once; what is
// not said is not.
func TestEveryFlagIsHandedOn(t *testing.T) {
	var o Options
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Flags(f)
	var all []string
	f.VisitAll(func(f *pflag.Flag) {
		if sample(f) == "" || f.Usage == "" {
			t.Fatalf("--%s, a %s: %q", f.Name, f.Value.Type(), f.Usage)
		}
		all = append(all, "--"+f.Name+"="+sample(f))
	})
	if fields := reflect.TypeFor[Options]().NumField(); len(all) != fields || len(o.rows()) != fields {
		t.Errorf("%d flags, %d rows, %d fields", len(all), len(o.rows()), fields)
	}
	zero := []string{"--max-tool-rounds=0", "--max-tokens=0", "--max-cost=0", "--timeout=0s", "--no-tools=false"}
	cases := [][]string{nil, all, zero}
	for _, a := range all {
		cases = append(cases, []string{a})
	}
	for _, args := range cases {
		first, given, err := parse(args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		handed := first.Args(given)
		second, again, err := parse(handed...)
		if err != nil || !reflect.DeepEqual(first, second) || len(handed) != len(args) {
			t.Errorf("%q is handed on as %q: %+v, %v", args, handed, second, err)
		}
		f.VisitAll(func(f *pflag.Flag) {
			if given(f.Name) != again(f.Name) {
				t.Errorf("%q is handed on as %q: --%s was given: %t", args, handed, f.Name, again(f.Name))
			}
		})
	}
	set := Options{Model: "m", NoTools: true} // without flags
	if got := set.Args(func(string) bool { return false }); !slices.Equal(got,
		[]string{"--model=m", "--no-tools=true"}) {
		t.Errorf("%q", got)
	}
}

func TestCheck(t *testing.T) {
	for args, want := range map[string]string{
		"": "", "--conversation=": "is empty", "-c --conversation=x": "cannot be combined", "-c": "",
		"--conversation=x": "",
		"--no-save -c":     "cannot continue", "--no-save --conversation=x": "cannot continue", "--no-save": "",
		"--max-tool-rounds=-1": "negative", "--max-tokens=-1": "negative", "--max-cost=-0.1": "negative",
		"--max-cost=NaN": "negative",
		"--timeout=-1s":  "negative", "--max-tool-rounds=0 --max-tokens=0 --max-cost=0 --timeout=0": "",
	} {
		o, given, err := parse(strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		e := envelope.From(o.Check(given))
		if (e == nil) != (want == "") || e != nil &&
			(e.Exit != envelope.ExitUsage || !strings.Contains(e.Message, want)) {
			t.Errorf("%s: %v", args, e)
		}
	}
}

// TestLimits: a flag that was given goes before the configuration, 0 too, and a limit of cost needs prices.
func TestLimits(t *testing.T) {
	cfg := config.Default(t.TempDir())
	cfg.Limits.MaxToolRounds, cfg.Limits.MaxTokens, cfg.Limits.TurnTimeoutS = 5, 6, 7
	cfg.DefaultProvider, cfg.Providers = "p", map[string]config.Provider{"p": {Kind: "openai", Model: "m"}}
	for args, want := range map[string]Limits{
		"": {5, 6, 0, 7 * time.Second}, "--max-tool-rounds=0 --max-tokens=0 --timeout=0": {},
		"--max-cost=0": {5, 6, 0, 7 * time.Second},
		"--max-tool-rounds=1 --max-tokens=2 --timeout=1.5": {1, 2, 0, 1500 * time.Millisecond},
	} {
		o, given, err := parse(strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.Limits(cfg, given); got != want || err != nil {
			t.Errorf("%s: %+v, %v", args, got, err)
		}
	}
	priceless := func(args ...string) bool {
		o, given, err := parse(args...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.Limits(cfg, given)
		return err != nil
	}
	if !priceless("--max-cost=1") {
		t.Error("a limit of cost without prices")
	}
	cfg.Limits.MaxCost = 1
	if !priceless() || priceless("--max-cost=0") {
		t.Error("a flag does not go before the configuration")
	}
	cfg.Usage.Prices = []config.Price{{Model: "m", InputPerMillion: 1, OutputPerMillion: 1}}
	if priceless() || !priceless("--model=other") {
		t.Error("the price of the model that is asked decides")
	}
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute,
		"2.5": 2500 * time.Millisecond, "0": 0, "-1s": -time.Second} {
		var s Seconds
		if err := s.Set(text); err != nil || time.Duration(s) != want {
			t.Errorf("%s: %s, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "NaN", "Inf", "1e9", "5 minutes"} {
		var s Seconds
		if err := s.Set(text); err == nil || errors.Unwrap(err) != nil {
			t.Errorf("%q is taken for %s", text, s)
		}
	}
}
