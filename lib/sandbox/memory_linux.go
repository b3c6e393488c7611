package sandbox

import (
	"bytes"
	"strconv"

	"clawsh/lib/process"
)

// treeMemory is the memory of a process and all below it, in bytes: what is theirs alone and what they share without a
// file on disk. Each part of memory that several share is counted for each of them.
func treeMemory(pid int) int64 {
	total := ownMemory(pid)
	for _, p := range process.Descendants(pid) {
		total += ownMemory(p)
	}
	return total
}

func ownMemory(pid int) int64 {
	b, err := process.ReadProc("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	var kib int64
	for _, name := range []string{"RssAnon:", "RssShmem:", "VmSwap:"} {
		_, rest, ok := bytes.Cut(b, []byte(name))
		if !ok {
			continue
		}
		rest, _, _ = bytes.Cut(rest, []byte(" kB"))
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
		kib += n
	}
	return kib << 10
}
