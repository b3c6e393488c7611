package tool

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSweepHomes: of everything that may lie among temporary files, what a killed process has left goes, and nothing
// else.
func TestSweepHomes(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	home := func(name string) string {
		dir := filepath.Join(temp, name)
		for _, d := range []string{dir, dir + "/A", dir + "/A/deep", dir + "/A/locked"} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		os.WriteFile(dir+"/A/deep/file", []byte("x"), 0o400)
		os.Symlink(temp+"/kept", dir+"/A/out")
		os.Chmod(dir+"/A/locked", 0)
		return dir
	}
	os.MkdirAll(temp+"/kept/inside", 0o700)
	var dead, kept []string
	for range 3 {
		dead = append(dead, home(homesPrefix+rand.Text()))
	}
	alive, err := MakeHomes()
	if err != nil {
		t.Fatal(err)
	}
	second, err := ShareHomes(alive.Dir)
	if err != nil {
		t.Fatal(err)
	}
	alive.Close() // one of two processes was killed
	kept = append(kept, second.Dir, temp+"/kept/inside")
	for _, name := range []string{"clawsh-home-", homesPrefix + "short", homesPrefix + strings.ToLower(rand.Text()),
		homesPrefix + rand.Text() + "X",
		"clawsh-bin-" + rand.Text(), "x" + homesPrefix + rand.Text()} {
		kept = append(kept, home(name))
	}
	open := home(homesPrefix + rand.Text())
	os.Chmod(open, 0o777) // others may have put there what they like
	kept = append(kept, open)
	file, link := temp+"/"+homesPrefix+rand.Text(), temp+"/"+homesPrefix+rand.Text()
	os.WriteFile(file, nil, 0o700)
	os.Symlink(temp+"/kept", link)
	kept = append(kept, file, link)
	if foreign := home(homesPrefix + rand.Text()); os.Chown(foreign, 1234, 1234) == nil {
		kept = append(kept, foreign)
	} else {
		dead = append(dead, foreign)
	}

	swept := SweepHomes(temp)
	for _, dir := range dead {
		if _, err := os.Lstat(dir); err == nil || !slices.Contains(swept, filepath.Base(dir)) {
			t.Errorf("%s was left", dir)
		}
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s was removed", path)
		}
	}
	if len(swept) != len(dead) {
		t.Errorf("swept %v", swept)
	}
	second.Close()
	if again := SweepHomes(temp); len(again) != 1 {
		t.Errorf("then %v", again)
	}
	if _, err := ShareHomes(second.Dir); err == nil {
		t.Error("a directory that was swept is used")
	}
}
