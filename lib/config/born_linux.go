package config

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// born is when a directory was made, "" where the file system does not tell.
func born(path string) string {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &s) != nil ||
		s.Mask&unix.STATX_BTIME == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%09d", s.Btime.Sec, s.Btime.Nsec)
}
