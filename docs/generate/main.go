// Command generate writes clawsh's man pages, completions and reference pages from what the built programs say of
// themselves:
//
//	go run ./docs/generate docs BIN          COMMANDS.md, CONFIGURATION.md and EXIT_CODES.md, into docs/
//	go run ./docs/generate offers BIN        cmd/clawsh/offers.go, from the stages' tables; then build clawsh again
//	go run ./docs/generate share BIN DIR     man pages and completions, into DIR
//
// The date of man pages is SOURCE_DATE_EPOCH, else that of the commit which the programs were built from.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"clawsh/docs/manual"
	"clawsh/lib/command"
	"clawsh/lib/record"
)

func main() { command.End("generate", run(os.Args[1:])) }

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: generate docs BIN | generate offers BIN | generate share BIN DIR")
	}
	bin, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	if args[0] == "offers" {
		return offers(bin)
	}
	programs, err := manual.Programs(bin)
	if err != nil {
		return err
	}
	switch {
	case args[0] == "docs" && len(args) == 2:
		return manual.WriteDocs("docs", programs)
	case args[0] == "share" && len(args) == 3:
		build, err := built(bin)
		if err != nil {
			return err
		}
		schemas, err := os.ReadFile("docs/SCHEMAS.md")
		if err != nil {
			return err
		}
		return manual.WriteShare(args[2], bin, string(schemas), programs, build)
	}
	return fmt.Errorf("%q: want docs, offers or share", args[0])
}

// offers writes the commands of stages that clawsh offers.
func offers(bin string) error {
	stages, err := manual.Stages(bin)
	if err != nil {
		return err
	}
	src, err := manual.Offers(stages)
	if err != nil {
		return err
	}
	return os.WriteFile(manual.OffersFile, []byte(src), 0o644)
}

// built is the version of the programs and the date of their source.
func built(bin string) (manual.Build, error) {
	out, err := exec.Command(filepath.Join(bin, "clawsh"), "--version", "--output-format", "json").Output()
	if err != nil {
		return manual.Build{}, fmt.Errorf("clawsh --version: %w", err)
	}
	var env struct {
		Data struct {
			Version string `json:"version"`
			Date    string `json:"date"`
		} `json:"data"`
	}
	if err := record.DecodeOpen(out, &env); err != nil {
		return manual.Build{}, fmt.Errorf("clawsh --version: %w", err)
	}
	date := "1980-01-01"
	if d := env.Data.Date; len(d) >= 10 {
		date = d[:10]
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		s, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return manual.Build{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		date = time.Unix(s, 0).UTC().Format("2006-01-02")
	}
	return manual.Build{Version: env.Data.Version, Date: date}, nil
}
