package agent

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"clawsh/lib/config"
)

// A list that was kept is not used once anything has changed that it was made from.
func TestKeptToolsFollowWhatTheyAreMadeFrom(t *testing.T) {
	bin := t.TempDir()
	program := filepath.Join(bin, "claw-exec")
	if err := os.WriteFile(program, []byte("1"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	cfg := &config.Config{Home: t.TempDir()}
	seen := map[string]string{}
	differs := func(what string) {
		t.Helper()
		from, err := madeFrom(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[from]; ok {
			t.Errorf("after %s the list counts as made from the same as after %s", what, before)
		}
		seen[from] = what
	}
	differs("nothing")
	for _, v := range []reflect.Value{reflect.ValueOf(&cfg.Limits).Elem(), reflect.ValueOf(&cfg.Channels.CLI).Elem()} {
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Int:
				f.SetInt(7)
			case reflect.Float64:
				f.SetFloat(7.5)
			case reflect.Bool:
				f.SetBool(!f.Bool())
			case reflect.Slice:
				f.Set(reflect.ValueOf([]string{"time"}))
			default:
				t.Fatalf("%s: a %s", v.Type().Field(i).Name, f.Kind())
			}
			differs(v.Type().Field(i).Name)
		}
	}
	if err := os.WriteFile(program, []byte("2"), 0o755); err != nil {
		t.Fatal(err)
	}
	differs("the program was written")
	other := filepath.Join(bin, "other")
	if err := os.WriteFile(other, []byte("2"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, program); err != nil {
		t.Fatal(err)
	}
	differs("the program was replaced by one of its size")
}
