package place

import (
	"fmt"
	"io/fs"
	"syscall"
)

// Identity tells files and directories apart, whatever they are called: by device and inode. It is empty where the
// system does not say.
func Identity(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", uint64(st.Dev), uint64(st.Ino))
}
