package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/command"
)

// The release itself is made and tested by "make release-test", which takes minutes; these tests hold its data to the
// code.

var systems = []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"}

// TestReleaseNamesEveryProgram: what is tried after an installation, and what the licence and the version are, is said
// alike everywhere.
func TestReleaseNamesEveryProgram(t *testing.T) {
	t.Parallel()
	run, formula := read(t, "../.release/run"), read(t, "../.release/clawsh.rb")
	for path, pattern := range map[string]string{"../Makefile": `(?m)^PROGRAMS := (.*)$`,
		"../.release/clawsh.rb": `%w\[(.*)\]\.each`,
		"../.release/test":      `(?m)^programs='(.*)'$`} {
		m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, path))
		if m == nil {
			t.Errorf("%s lists no programs", path)
			continue
		}
		if got := slices.Sorted(slices.Values(strings.Fields(m[1]))); !slices.Equal(got, binaries(t)) {
			t.Errorf("%s lists %v", path, got)
		}
	}
	if !strings.Contains(run, "SYSTEMS='"+strings.Join(systems, " ")+"'") {
		t.Errorf(".release/run is not for %v", systems)
	}
	version := regexp.MustCompile(`(?m)^GO_VERSION=go(\d+\.\d+)\.\d+$`).FindStringSubmatch(run)
	if version == nil || !strings.Contains(read(t, "../go.mod"), "\ngo "+version[1]+".") {
		t.Errorf(".release/run builds with %q, go.mod wants another", version)
	}
	if !strings.Contains(formula, "\n  license \"MIT\"\n") ||
		!strings.Contains(read(t, "../.release/nfpm.yaml"), "\nlicense: MIT\n") ||
		!strings.Contains(read(t, "../.release/Containerfile"), `image.licenses="MIT"`) {
		t.Error("formula, packages and container file do not all say that the licence is MIT")
	}
}

// TestReleaseTemplatesAreFilled: each place in the formula and the container file is one that .release/run fills in,
// and each archive has its hash.
func TestReleaseTemplatesAreFilled(t *testing.T) {
	t.Parallel()
	known := []string{"@VERSION@", "@COMMIT@", "@HOMEPAGE@", "@URL@"}
	for _, name := range known {
		if !strings.Contains(read(t, "../.release/run"), "text//"+name+"/") {
			t.Errorf(".release/run does not fill in %s", name)
		}
	}
	for path, wants := range map[string][]string{"../.release/clawsh.rb": systems,
		"../.release/Containerfile": systems[:2]} {
		text := read(t, path)
		var hashes []string
		for _, system := range wants {
			hash := "@SHA256_" + strings.ReplaceAll(system, "-", "_") + "@"
			hashes = append(hashes, hash)
			if strings.Count(text, hash) != 1 {
				t.Errorf("%s names %s not once", path, hash)
			}
			if strings.HasSuffix(path, ".rb") &&
				!regexp.MustCompile(`clawsh-@VERSION@-`+system+`\.tar\.gz"\n\s+sha256 "`+hash+`"`).MatchString(text) {
				t.Errorf("%s: the hash of %s does not follow its address", path, system)
			}
		}
		for _, place := range regexp.MustCompile(`@\w+@`).FindAllString(text, -1) {
			if !slices.Contains(known, place) && !slices.Contains(hashes, place) {
				t.Errorf("%s: nobody fills in %s", path, place)
			}
		}
	}
}

// TestComponentsAreWhatIsLinked makes the list of components of the programs under test: it names each program, and
// each module that go links, with its checksum, and no path of the machine.
func TestComponentsAreWhatIsLinked(t *testing.T) {
	t.Parallel()
	args := []string{"version", "-m", "-json"}
	for _, name := range binaries(t) {
		args = append(args, filepath.Join(bin, name))
	}
	builds, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	jq := exec.Command("jq", "-n", "--arg", "version", command.Version, "--arg", "date", "2026-11-22T00:00:00Z",
		"--arg", "target", "linux/amd64",
		"-f", "../.release/sbom.jq")
	jq.Stdin, jq.Stderr = strings.NewReader(string(builds)), os.Stderr
	out, err := jq.Output()
	if err != nil || strings.Contains(string(out), bin) {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	var list struct {
		BOMFormat  string
		Components []struct {
			Type, Name, Version string
			Properties          []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(out, &list); err != nil || list.BOMFormat != "CycloneDX" {
		t.Fatalf("%v\n%.500s", err, out)
	}
	got := map[string][]string{}
	for _, c := range list.Components {
		name := c.Name
		if c.Type == "library" {
			name += "@" + c.Version
			if len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:") {
				t.Errorf("%s has no checksum: %v", name, c.Properties)
			}
		}
		got[c.Type] = append(got[c.Type], name)
	}
	want := goList(t, "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}}@{{.Version}}{{end}}{{end}}", "./cmd/...")
	slices.Sort(want)
	slices.Sort(got["library"])
	if !slices.Equal(got["library"], slices.Compact(want)) || !slices.Equal(got["application"], binaries(t)) {
		t.Errorf("components:\n%v\nlinked:\n%v", got, slices.Compact(want))
	}
}
