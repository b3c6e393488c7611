package config

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestEveryKeyIsDocumented: a key without a sentence in the template is not finished, and the template names no other.
func TestEveryKeyIsDocumented(t *testing.T) {
	for _, k := range Keys() {
		group := k.Type == "table" && !strings.HasSuffix(k.Name, "body")
		if k.Doc == "" && !group {
			t.Errorf("%s: the template does not say what it is for", k.Name)
		}
		if k.Name == "" || k.Type == "" {
			t.Errorf("%+v", k)
		}
	}
	for l := range templateLines() {
		if _, known := find(l.key); l.key != "" && !known {
			t.Errorf("the template has %s, which is not a key", l.key)
		}
	}
}

func TestKeys(t *testing.T) {
	all := map[string]Key{}
	for _, k := range Keys() {
		if all[k.Name].Name != "" {
			t.Errorf("%s is there twice", k.Name)
		}
		all[k.Name] = k
	}
	for _, want := range []Key{
		{"security.autonomy", "text", `"supervised"`, "readonly, supervised or full", "", "",
			"readonly: changes nothing; supervised: asks before changes; full: never asks"},
		{"limits.shell_timeout_s", "number", "15.0", "0.01 to 86400", "", "seconds",
			"of a command that does not ask for another time; 15 without this key"},
		{"providers.models.*.max_retries", "whole number", "", "0 to 20", "2", "",
			"2 if unset; on 429, 5xx and network errors"},
		{"receipts.rotate_bytes", "whole number", "67108864", "65536 to 1099511627776, or 0 for never", "", "bytes",
			"then the log continues in a new file; 0: never"},
		{"usage.prices.model", "text", "", "", `"local-model"`, "", "a trailing * matches any suffix"},
	} {
		if all[want.Name] != want {
			t.Errorf("%+v\nwant %+v", all[want.Name], want)
		}
	}
}

// TestEveryValueIsChecked sets each key to values that its tag forbids, to the limits that it allows, and to a value of
// no type it has.
func TestEveryValueIsChecked(t *testing.T) {
	for f := range fields("", reflect.TypeFor[file]()) {
		if f.Tag.Get("toml") == "" || f.key == "security.rules" || f.key == "usage.prices" {
			continue
		}
		refused := []string{"1979-05-27"}
		var allowed []string
		low, high, _ := f.limits()
		switch k := kind(f.Type); {
		case f.Tag.Get("want") == "":
		case k == "text":
			refused = append(refused, `"godmode"`, `""`, `"Full"`)
		case k == "true or false":
			refused = append(refused, "false")
		default:
			whole := "%.0f"
			if k == "number" {
				whole = "%g"
				refused = append(refused, "nan", "inf", "-inf")
			}
			refused = append(refused, fmt.Sprintf(whole, low-1))
			allowed = append(allowed, fmt.Sprintf(whole, low))
			if high < math.MaxFloat64 {
				refused, allowed = append(refused, fmt.Sprintf(whole, high+1)),
					append(allowed, fmt.Sprintf(whole, high))
			}
		}
		table, name := above(f.key), f.name()
		for _, value := range refused {
			said := problemsOf(t, table, name, value)
			if !strings.Contains(said, "want ") && !strings.Contains(said, "remove this key") ||
				!strings.Contains(said, name) {
				t.Errorf("%s = %s: %q", f.key, value, said)
			}
		}
		for _, value := range allowed {
			if said := problemsOf(t, table, name, value); strings.Contains(said, "want "+f.unit()) && said != "" &&
				!strings.Contains(said, "less than") {
				t.Errorf("%s = %s: %q", f.key, value, said)
			}
		}
	}
}

// problemsOf is what is said of a file with one key.
func problemsOf(t *testing.T, table, name, value string) string {
	t.Helper()
	header, rest := "", ""
	switch table = strings.ReplaceAll(table, "*", "x"); {
	case name == "*":
		header, name = "", strings.ReplaceAll(join(table, "x"), "*", "x")
	case table == "usage.prices":
		header, rest = "[[usage.prices]]\n", "model = \"m\"\n"
	case table == "security.rules":
		header = "[[security.rules]]\n"
	case table != "":
		header = "[" + table + "]\n"
	}
	if table == "providers.models.x" && name != "kind" {
		rest = "kind = \"mock\"\n"
	}
	if name == "model" && table == "usage.prices" {
		rest = ""
	}
	err := Check([]byte(header+rest+name+" = "+value+"\n"), places(t, ""))
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestPlacesOfProblems(t *testing.T) {
	for text, want := range map[string]string{
		"[security]\nautonomy = \"full\"\n[security]\nharmless = \"low\"":                    "config.toml:3:2: security is defined twice",
		"[limits]\nmax_tokens = 1\nmax_tokens = 2":                                           "config.toml:3:1: limits.max_tokens is defined twice",
		"limits.max_tokens = 1\n[limits]\nmax_cost = 2.0":                                    "config.toml:2:2: limits is defined twice",
		"usage = { currency = \"EUR\", currency = \"USD\" }":                                 "usage.currency is defined twice",
		"usage.prices = [{model=\"a\"}, {model=\"b\", input_per_milion = 3}]":                "config.toml:1:42: usage.prices.input_per_milion is not a known key: did you mean input_per_million?",
		"[[usage.prices]]\nmodel = \"a\"\n[[usage.prices]]\nmodel = \"b\"\nprice = 2\n":      "config.toml:5:1: usage.prices.price is not a known key",
		"[[usage.prices]]\n[[usage.prices]]\nmodel = \"b\"\noutput_per_million = -2.0\n":     "config.toml:4:1: usage.prices.output_per_million price 2: -2: want 0 to",
		"[[security.rules]]\nname = \"a\"\nwhen = \"true\"\ndecide = \"maybe\"\n":            `config.toml:4:1: security.rules.decide rule 1 "a": "maybe": want deny, ask or allow`,
		"[[security.rules]]\nname = \"a\"\n[[security.rules]]\nname = \"a\"\n":               `config.toml:3:3: security.rules rule 2 "a": another rule has the same name`,
		"[providers.models.\"a.b\"]\nkind = \"magic\"":                                       `config.toml:2:1: providers.models."a.b".kind "magic": want mock`,
		"[providers.models.\"a.b\"]\nkind = \"mock\"\nmodle = \"x\"":                         `config.toml:3:1: providers.models."a.b".modle is not a known key: did you mean model?`,
		"security.autonomy.x = 1":                                                            "config.toml:1:1: security.autonomy.x is not a known key",
		"[providers.models.x]\nkind = \"mock\"\nheaders = { a = 1 }":                         "providers.models.x.headers: want a table of texts",
		"[limits]\nmax_tokens = 99999999999999999999":                                        "config.toml:2:14: limits.max_tokens: want a whole number",
		"[providers.models.x]\nkind = \"mock\"\nidle_timeout_s = nan":                        "config.toml:3:1: providers.models.x.idle_timeout_s NaN: want seconds, 0 to 86400",
		"[[providers.models.x.body.a]]\n[providers.models.x.body.a.s]\n[[providers.models]]": "config.toml:3:3: providers.models",
	} {
		if err := Check([]byte(text), places(t, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	body := "[providers.models.x]\nkind = \"mock\"\n[[providers.models.x.body.list]]\n[providers.models.x.body.list.sub]\na = 1\n" +
		"[[providers.models.x.body.list]]\n[providers.models.x.body.list.sub]\na = 1\n[providers.models.\"a.b\"]\nkind = \"mock\"\n"
	if err := Check([]byte(body), places(t, "")); err != nil {
		t.Error(err)
	}
}
