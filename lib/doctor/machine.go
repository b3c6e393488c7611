package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// clock compares the clock with the newest receipt: permits live by it.
func (d *examination) clock(ctx context.Context) {
	var r struct {
		Receipts []struct {
			Timestamp string `json:"timestamp"`
		} `json:"receipts"`
	}
	var newest time.Time // zero where there is no receipt; what is wrong with the log, another check says
	if d.stages.Query(ctx, &r, "claw-receipt", "list", "--limit", "1") == nil && len(r.Receipts) > 0 {
		newest, _ = time.Parse(time.RFC3339, r.Receipts[len(r.Receipts)-1].Timestamp)
	}
	d.tell(ctx, timeFinding(time.Now().UTC(), newest.UTC()))
}

// timeFinding judges the time by the newest receipt's.
func timeFinding(now, newest time.Time) Finding {
	f := Finding{Check: "clock", State: sound, Message: now.Format(time.RFC3339)}
	switch {
	case now.Before(newest.Add(-time.Minute)):
		f.State, f.Hint = wrong, "set the clock; permits and receipts depend on it"
		f.Message = fmt.Sprintf("the clock says %s, which is before the newest receipt, %s", now.Format(time.RFC3339),
			newest.Format(time.RFC3339))
	case now.Year() < 2025 || now.Year() > 2100:
		f.State, f.Message, f.Hint = wrong, "it says "+f.Message, "set the clock"
	}
	return f
}

// leastFree is what a few turns need.
const leastFree = 64 << 20

// disks looks where clawsh writes.
func (d *examination) disks(ctx context.Context) {
	seen := map[string]bool{}
	for _, dir := range []string{d.paths.Home, filepath.Dir(d.config.Memory.Path), filepath.Dir(d.config.Receipts.Path),
		os.TempDir()} {
		if !seen[dir] {
			seen[dir] = true
			d.tell(ctx, diskFinding(dir))
		}
	}
}

func diskFinding(dir string) Finding {
	f := Finding{Check: "disk", State: wrong}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		f.Message = fmt.Sprintf("%s: %v", dir, err)
		return f
	}
	free := int64(s.Bavail) * int64(s.Bsize)
	switch err := tryToWrite(dir); {
	case err != nil:
		f.Message = fmt.Sprintf("nothing can be written in %s: %v", dir, err)
		f.Hint = "a call whose receipt cannot be written does not run"
	case free < leastFree:
		f.Message, f.Hint = fmt.Sprintf("%s has %d MB left", dir, free>>20),
			"a call whose receipt cannot be written does not run"
	default:
		f.State, f.Message = sound, fmt.Sprintf("%s: %d MB free", dir, free>>20)
	}
	return f
}

// tryToWrite writes a page, since an empty file and some bytes of one may need no block.
func tryToWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".clawsh-doctor-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
