package command

import "testing"

func TestCommitOfModuleVersion(t *testing.T) {
	const commit, date = "5e5ba751c3a9", "2026-11-22T06:38:09Z"
	for version, known := range map[string]bool{
		"v0.0.0-20261122063809-5e5ba751c3a9":         true,
		"v0.1.1-0.20261122063809-5e5ba751c3a9":       true,
		"v0.1.1-rc.1.0.20261122063809-5e5ba751c3a9":  true,
		"v0.1.1-0.20261122063809-5e5ba751c3a9+dirty": true,
		"":                                     false,
		"(devel)":                              false,
		"v0.1.0":                               false,
		"v0.1.0-rc.1":                          false,
		"v0.1.0-20261322063809-5e5ba751c3a9":   false,
		"v0.1.0-20261122063809-5e5ba751c3a":    false,
		"v0.1.0-20261122063809-5E5BA751C3A9":   false,
		"v0.1.0-5e5ba751c3a9":                  false,
		"20261122063809-5e5ba751c3a9-anything": false,
	} {
		wantCommit, wantDate := commit, date
		if !known {
			wantCommit, wantDate = "", ""
		}
		if c, d := fromModule(version); c != wantCommit || d != wantDate {
			t.Errorf("%q: commit %q of %q", version, c, d)
		}
	}
}

func TestBuildInWords(t *testing.T) {
	for want, v := range map[string]Build{
		"0.1.0": {Version: "0.1.0"},
		"0.1.0 (commit 5e5ba751c3a9, 2026-11-22)": {Version: "0.1.0", Commit: "5e5ba751c3a94d6f",
			Date: "2026-11-22T06:38:09Z"},
		"0.1.0 (commit 5e5ba751c3a9, changed since, 2026-11-22)": {Version: "0.1.0", Commit: "5e5ba751c3a9",
			Changed: true, Date: "2026-11-22T06:38:09Z"},
		"0.1.0 (commit abc)": {Version: "0.1.0", Commit: "abc"},
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
