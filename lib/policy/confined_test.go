package policy

import (
	"reflect"
	"strings"
	"testing"

	"clawsh/lib/config"
)

// unconfined are the keys of [sandbox] and [security] that do not decide what confines a call, and why.
var unconfined = map[string]string{
	"sandbox.deterministic":       "narrows what programs see of the clock",
	"sandbox.source_date_epoch":   "a variable's value",
	"sandbox.seed":                "a variable's value",
	"sandbox.memory_bytes":        "a limit",
	"sandbox.processes":           "a limit",
	"sandbox.open_files":          "a limit",
	"sandbox.cpus":                "a limit",
	"sandbox.cpu_s":               "a limit",
	"sandbox.file_bytes":          "a limit",
	"sandbox.tmp_bytes":           "a limit",
	"sandbox.cache":               "a directory of this workspace alone",
	"sandbox.cache_bytes":         "a limit",
	"security.autonomy":           "decides what is asked, not what a call may reach",
	"security.forbidden_commands": "blocks before any rule",
	"security.allowed_commands":   "decides the risk, which a rule names",
	"security.allowed_domains":    "decides the risk, and the rule names the address",
	"security.audit_log":          "confines nothing",
	"security.harmless":           "decides what is asked",
	"security.high":               "decides what is asked",
	"security.unasked_url_bytes":  "decides what is asked",
	"security.rules":              "are the rules themselves",
	"security.read_roots":         "as they are in force: Config.ReadRoots",
}

// other is a value of a setting that is not the one it has.
func other(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
	default:
		t.Fatalf("no other value of a %s is known", v.Type())
	}
}

// TestEverySettingThatConfinesIsPartOfRules: a rule that was written at a question holds only while what confines the
// call is what it was. A new key of [sandbox] or [security] is part of that, or is listed here with the reason why it
// is not.
func TestEverySettingThatConfinesIsPartOfRules(t *testing.T) {
	settings := func() *config.Config { // with the engine for which every setting counts
		return &config.Config{Security: config.Security{Sandbox: "container"}}
	}
	before, seen := confinement(settings()), map[string]bool{}
	for _, table := range []string{"Sandbox", "Security"} {
		fields := reflect.TypeOf(config.Config{}.Security)
		if table == "Sandbox" {
			fields = reflect.TypeOf(config.Config{}.Sandbox)
		}
		for i := range fields.NumField() {
			name, _, _ := strings.Cut(fields.Field(i).Tag.Get("toml"), ",")
			key := strings.ToLower(table) + "." + name
			cfg := settings()
			other(t, reflect.ValueOf(cfg).Elem().FieldByName(table).Field(i))
			counts := !reflect.DeepEqual(confinement(cfg), before)
			if _, listed := unconfined[key]; counts == listed {
				t.Errorf("%s is part of Confined: %v, listed as one that confines nothing: %v", key, counts, listed)
			}
			seen[key] = true
		}
	}
	for key := range unconfined {
		if !seen[key] {
			t.Errorf("%s is no setting", key)
		}
	}
	cfg := settings()
	cfg.ReadRoots = []config.ReadRoot{{Path: "/srv"}}
	if reflect.DeepEqual(confinement(cfg), before) {
		t.Error("the read roots are not part of Confined")
	}
}
