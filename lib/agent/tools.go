package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"clawsh/lib/config"
	"clawsh/lib/loop"
	"clawsh/lib/process"
	"clawsh/lib/record"
	"clawsh/lib/sibling"
)

// tools gives the loop the active tools: as they were kept, or as claw-exec lists them now.
func (o *Options) tools(ctx context.Context, s *sibling.Programs, cfg *config.Config, lo *loop.Options) error {
	if o.NoTools || lo.MaxToolRounds == 0 {
		return nil
	}
	from, err := madeFrom(cfg)
	if err == nil {
		if kept, ok := readTools(cfg.ToolsPath(), from); ok {
			lo.Tools = kept
			return nil
		}
	}
	var list struct {
		Tools []struct {
			record.Tool
			Active bool `json:"active"`
		} `json:"tools"`
	}
	if err := s.Query(ctx, &list, "claw-exec", "list"); err != nil {
		return fmt.Errorf("ask claw-exec for its tools: %w", err)
	}
	for _, t := range list.Tools {
		if t.Active {
			lo.Tools = append(lo.Tools, t.Tool)
		}
	}
	if from != "" {
		_ = keepTools(cfg.ToolsPath(), keptTools{record.Version, from, lo.Tools}) // it saves time and nothing else
	}
	return nil
}

// keptTools is a list of active tools, and a hash of what claw-exec made it from.
type keptTools struct {
	V     int           `json:"v"`
	From  string        `json:"from"`
	Tools []record.Tool `json:"tools"`
}

// madeFrom is a hash of all that claw-exec's list depends on: which program it is, and the parts of the configuration
// that are in it.
func madeFrom(cfg *config.Config) (string, error) {
	path, err := process.Find("claw-exec")
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %d %d.%d %d.%d %+v %+v", path, st.Dev, st.Ino, st.Size, st.Mtim.Sec,
		st.Mtim.Nsec,
		st.Ctim.Sec, st.Ctim.Nsec, cfg.Limits, cfg.Channels.CLI))
	return hex.EncodeToString(sum[:]), nil
}

const maxToolsBytes = 1 << 20

// readTools reads the list that was kept, if it was made from the same. Owner and mode were checked with the rest of
// the home.
func readTools(path, from string) ([]record.Tool, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxToolsBytes))
	var kept keptTools
	if err != nil || record.Decode(raw, &kept) != nil || kept.V != record.Version || kept.From != from {
		return nil, false
	}
	return kept.Tools, true
}

// keepTools replaces the list at once, and does not wait for the disk: what a crash leaves of it is read as none.
func keepTools(path string, kept keptTools) error {
	raw, err := record.Encode(kept)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tools.tmp-")
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
