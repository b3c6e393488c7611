package envelope

import (
	"testing"
	"time"
)

func TestDecode(t *testing.T) {
	failed := Errorf(ExitConfig, "config.invalid", "line 1").WithHint("mend it")
	for _, err := range []error{nil, failed} {
		line, encErr := New("x", time.Unix(0, 0), map[string]int{"n": 1}, err).Append(nil)
		r, decErr := Decode(append(line, '\n'))
		if encErr != nil || decErr != nil {
			t.Fatal(encErr, decErr)
		}
		if err == nil && (r.Failed != nil || string(r.Data) != `{"n":1}`) {
			t.Errorf("%+v", r)
		}
		if err != nil && (r.Failed == nil || r.Failed.Code != failed.Code || r.Failed.Hint != failed.Hint ||
			r.Failed.Exit != ExitConfig || string(r.Details) != `{"n":1}`) {
			t.Errorf("%+v", r)
		}
	}
	for _, bad := range []string{``, `null`, `[]`, `{}`, `{"schema_version":"2.0","exit_code":0}`,
		`{"schema_version":"3.0","exit_code":0,"data":{}}`,
		`{"exit_code":0,"data":{}}`, `{"schema_version":"2","exit_code":0,"data":{}}`,
		`{"schema_version":"2.0","exit_code":1,"data":{}}`,
		`{"schema_version":"2.0","exit_code":0,"error":{"code":"x","message":"y"}}`,
		`{"schema_version":"2.0","exit_code":1,"error":{}}`,
		`{"schema_version":"2.0","exit_code":"0","data":{}}`, `{"schema_version":"2.0","exit_code":0,"data":{}}{}`,
		`{"schema_version":"2.0","exit_code":0,"exit_code":0,"data":{}}`,
		`{"schema_version":"2.0","exit_code":0,"data":{`, "\xff"} {
		if r, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, r)
		}
	}
}

// FuzzDecode: whatever is accepted is a success with data or a failure with a code.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema_version":"2.0","exit_code":0,"data":{}}`))
	f.Add([]byte(`{"schema_version":"2.0","exit_code":1,"error":{"code":"x","message":"y","details":[]}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		r, err := Decode(answer)
		if err == nil && r.Failed == nil && len(r.Data) == 0 || r.Failed != nil &&
			(r.Failed.Code == "" || r.Failed.Exit == 0) {
			t.Errorf("%q: %+v", answer, r)
		}
	})
}
