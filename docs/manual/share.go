package manual

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// WriteShare writes what belongs below PREFIX/share: man pages and completions, where man and the shells look for them.
func WriteShare(dir, bin, schemas string, programs []Program, build Build) error {
	pages, err := Pages(programs, schemas, build)
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := write(filepath.Join(dir, "man", "man"+p.Section, p.Name+"."+p.Section), p.Text); err != nil {
			return err
		}
	}
	for _, name := range Names() {
		for shell, path := range map[string]string{
			"bash": "bash-completion/completions/" + name,
			"zsh":  "zsh/site-functions/_" + name,
			"fish": "fish/vendor_completions.d/" + name + ".fish",
		} {
			script, err := exec.Command(filepath.Join(bin, name), "completion", shell).Output()
			if err != nil {
				return fmt.Errorf("%s completion %s: %w", name, shell, err)
			}
			if err := write(filepath.Join(dir, path), script); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteDocs writes the pages of docs/ that are made from tables.
func WriteDocs(dir string, programs []Program) error {
	for name, text := range Docs(programs) {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// Docs are the pages of docs/ that are made from tables, by their names.
func Docs(programs []Program) map[string]string {
	return map[string]string{"COMMANDS.md": Commands(programs), "CONFIGURATION.md": Configuration(),
		"EXIT_CODES.md": ExitCodes()}
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
