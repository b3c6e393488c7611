package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawsh/lib/place"
)

func TestLimitsMustBeSet(t *testing.T) {
	full := Limits{MemoryBytes: 1, Processes: 1, OpenFiles: 1, CPUs: 1, CPUS: 1, FileBytes: 1, TmpBytes: 1}
	if err := full.Check(); err != nil {
		t.Error(err)
	}
	for name, unset := range map[string]func(*Limits){
		"memory_bytes": func(l *Limits) { l.MemoryBytes = 0 }, "processes": func(l *Limits) { l.Processes = -1 },
		"open_files": func(l *Limits) { l.OpenFiles = 0 }, "cpus": func(l *Limits) { l.CPUs = 0 },
		"cpu_s":      func(l *Limits) { l.CPUS = 0 },
		"file_bytes": func(l *Limits) { l.FileBytes = 0 }, "tmp_bytes": func(l *Limits) { l.TmpBytes = 0 },
	} {
		l := full
		unset(&l)
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
		if _, err := New("auto", Place{Workspace: "/srv/w"}, l); err == nil {
			t.Errorf("a sandbox without %s was made", name)
		}
	}
}

func TestWorkspacesThatGiveEverythingAway(t *testing.T) {
	refuse := []string{"/home/u", "/home/u/.clawsh", ""}
	for _, w := range []string{"/", "/home", "/home/u", "/home/u/.clawsh", "w", "", "/srv/../home", "/srv/"} {
		if err := (Place{Workspace: w, Refuse: refuse}).Check(); err == nil {
			t.Errorf("%q was taken", w)
		}
	}
	for _, w := range []string{"/home/u/w", "/srv/w", "/home/user2"} {
		if err := (Place{Workspace: w, Refuse: refuse}).Check(); err != nil {
			t.Errorf("%q: %v", w, err)
		}
	}
	for _, read := range []string{"/", "/home", "/home/u"} {
		if err := (Place{Workspace: "/srv/w", Read: []string{"/opt/x", read}, Refuse: refuse}).Check(); err == nil {
			t.Errorf("%s may be read", read)
		}
	}
	if err := (Place{Workspace: "/srv/w", Read: []string{"/home/u/.cargo/bin"}, Refuse: refuse}).Check(); err != nil {
		t.Error(err)
	}
	if err := (Place{Workspace: "/srv/w", Layout: "heap"}).Check(); err == nil {
		t.Error("an unknown layout was taken")
	}
}

// find returns the kind of the mount that decides about a path.
func find(m []mount, path string) string {
	kind, best := "", -1
	for _, v := range m {
		if place.Within(v.Target, path) && len(v.Target) >= best {
			kind, best = v.Kind, len(v.Target)
		}
	}
	return kind
}

func TestView(t *testing.T) {
	w, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{".git/hooks", ".git/objects", "sub/.git/hooks", "input", "data", "output", "private",
		"a/b/c/d/.git"} {
		os.MkdirAll(filepath.Join(w, d), 0o755)
	}
	os.WriteFile(w+"/.git/config", nil, 0o644)
	os.WriteFile(w+"/private.key", nil, 0o600)
	os.Symlink("/etc", w+"/link")
	hidden := []string{w + "/private", w + "/private.key", w + "/link", w + "/none", "/etc/shadow"}
	for _, c := range []struct {
		place Place
		path  string
		want  string
	}{
		{Place{}, "x", mountWrite}, {Place{}, ".git/objects/x", mountRead}, {Place{}, "sub/.git/hooks/x", mountRead},
		{Place{}, "input/x", mountWrite},
		{Place{GitWrite: true}, ".git/objects/x", mountWrite}, {Place{GitWrite: true}, ".git/hooks/x", mountRead},
		{Place{GitWrite: true}, ".git/config", mountRead},
		{Place{Layout: Staged}, "x", mountRead}, {Place{Layout: Staged}, "input/x", mountRead},
		{Place{Layout: Staged}, "data/x", mountWrite},
		{Place{Layout: Staged}, "output/x", mountWrite},
		{Place{Hidden: hidden}, "private/x", mountDir}, {Place{Hidden: hidden}, "private.key", mountNull},
		{Place{Hidden: hidden}, "link", mountWrite},
		{Place{}, "../x", mountTmp}, {Place{}, "/etc/shadow", ""}, {Place{}, "/root/.ssh/id", ""},
		{Place{}, "/usr/bin/env", mountRead}, {Place{}, "/", ""},
	} {
		c.place.Workspace = w
		m, err := view(c.place, Limits{TmpBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(m, func(a, b mount) int { return strings.Compare(a.Target, b.Target) }) {
			t.Error("a directory comes behind what lies in it")
		}
		path := c.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(w, path)
		}
		if got := find(m, path); got != c.want && !(c.path == "../x" && got == "") {
			t.Errorf("%+v: %s is %q, want %q", c.place, c.path, got, c.want)
		}
	}
	os.RemoveAll(w + "/output")
	os.WriteFile(w+"/output", nil, 0o644)
	if _, err := view(Place{Workspace: w, Layout: Staged}, Limits{}); err == nil {
		t.Error("a staged workspace whose output is a file was taken")
	}
}

func TestCallsOnlyNarrow(t *testing.T) {
	have := Limits{MemoryBytes: 100, Processes: 10, OpenFiles: 10, CPUs: 2, CPUS: 10, FileBytes: 10, TmpBytes: 10}
	s, err := New("auto", Place{Workspace: "/srv/w", Layout: Staged}, have)
	if err != nil {
		t.Fatal(err)
	}
	p, l := s.narrow(Adapt{Layout: Open, Limits: Limits{MemoryBytes: 1000, Processes: 5, CPUS: -1}})
	if p.Layout != Staged || l.MemoryBytes != 100 || l.Processes != 5 || l.CPUS != 10 {
		t.Errorf("%+v %+v", p, l)
	}
}

func TestContainerArguments(t *testing.T) {
	w, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.MkdirAll(w+"/.git", 0o755)
	image := "debian@sha256:" + strings.Repeat("a", 64)
	limits := Limits{MemoryBytes: 1 << 20, Processes: 7, OpenFiles: 9, CPUs: 2, CPUS: 3, FileBytes: 11, TmpBytes: 13}
	args, err := containerArgs("n", Place{Workspace: w, Image: image}, limits,
		Program{Argv: []string{"/bin/ls", "--net", "host"}, Dir: w, Env: []string{"A=b"}}, 1000, 1001)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(args, " ")
	for _, want := range []string{"--network none", "--read-only", "--cap-drop ALL", "no-new-privileges",
		"--pids-limit 7", "--memory 1048576 --memory-swap 1048576",
		"--cpus 2", "nofile=9", "cpu=3", "fsize=11", "--user 1000:1001", "--pull never", "type=bind,source=" + w +
			",target=" + w + " ",
		"source=" + w + "/.git,target=" + w + "/.git,readonly", "--env A=b", "--entrypoint /bin/ls " + image +
			" --net host"} {
		if !strings.Contains(line+" ", want) {
			t.Errorf("%q is not in %s", want, line)
		}
	}
	for _, not := range []string{"--privileged", "source=/usr", "docker.sock"} {
		if strings.Contains(line, not) {
			t.Errorf("%q is in %s", not, line)
		}
	}
	for _, bad := range []string{"", "debian", "debian:12", "debian@sha256:" + strings.Repeat("a", 63),
		"--privileged@sha256:" + strings.Repeat("a", 64)} {
		if _, err := containerArgs("n", Place{Workspace: w, Image: bad}, limits, Program{Argv: []string{"/bin/ls"}}, 1,
			1); err == nil {
			t.Errorf("the image %q was taken", bad)
		}
	}
	comma := filepath.Join(w, "a,readonly=false")
	os.Mkdir(comma, 0o755)
	if _, err := containerArgs("n", Place{Workspace: comma, Image: image}, limits, Program{Argv: []string{"/bin/ls"}},
		1, 1); err == nil {
		t.Error("a path with a comma was taken")
	}
}
