package record

import "testing"

func TestMembers(t *testing.T) {
	const in = `{"b":1.50,"a":{"x":[12345678901234567890]},"ü":null}`
	members, err := Members([]byte(in))
	if err != nil || len(members) != 3 || members[2].Name != "ü" {
		t.Fatalf("%v, %v", members, err)
	}
	if out, err := Object(members); err != nil || string(out) != in {
		t.Errorf("%s, %v", out, err)
	}
	for _, bad := range []string{"", "[]", `{"a":1,"a":2}`, `{"a"`, `{"a":}`, "null", `"x"`, `{"a":1`} {
		if m, err := Members([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, m)
		}
	}
	elements, err := Elements([]byte(`[1, {"a":2},"x"]`))
	if err != nil || string(Array(elements)) != `[1,{"a":2},"x"]` {
		t.Errorf("%v, %v", elements, err)
	}
}
