#!/usr/bin/env bash
# Records what programs call: record.sh DIR <LIST, where each line of LIST is a label, a tab and a command for bash, and DIR is a
# directory that the commands may change. It prints lines of recorded.tsv before they are summed up: call, arguments, label. The
# commands run in bubblewrap without network, so nothing but DIR is changed; strace has to be outside of our own filter.
set -euo pipefail
dir=$(realpath "$1")
trace=$(mktemp -d)
trap 'rm -rf "$trace"' EXIT
while IFS=$'\t' read -r label command; do
  timeout 150 bwrap --unshare-pid --unshare-net --unshare-ipc --ro-bind / / --dev /dev --proc /proc --bind "$dir" "$dir" \
    --bind "$trace" "$trace" --setenv HOME "$dir" --chdir "$dir" --die-with-parent -- \
    strace -f -qq -s 8 -o "$trace/t" bash -c "$command" </dev/null >/dev/null 2>&1 || true
  awk -v label="$label" '
    { line = $0; sub(/^[0-9]+ +/, "", line); if (line !~ /^[a-z_0-9]+\(/) next
      name = args = line; sub(/\(.*/, "", name); sub(/^[a-z_0-9]+\(/, "", args); sub(/[)]? <unfinished.*/, "", args)
      key = ""; split(args, a, ", ")
      if (name ~ /^(ioctl|fcntl)$/) key = a[2]
      else if (name ~ /^(prctl|arch_prctl|personality|membarrier)$/) key = a[1]
      else if (name ~ /^(socket|socketpair)$/) key = a[1] "," a[2] "," a[3]
      else if (name ~ /^[gs]etsockopt$/) key = a[2] "," a[3]
      else if (name ~ /^(seccomp|prlimit64|setpriority|ioprio_set|sched_setscheduler)$/) key = a[1] "," a[2]
      else if (name == "madvise") key = a[3]
      else if (name == "utimensat") key = a[2] == "NULL" ? "fd" : "path"
      else if (name == "clone" && match(args, /flags=[A-Z_|a-z0-9]*/)) key = substr(args, RSTART + 6, RLENGTH - 6)
      else if (name ~ /^mknod/ && match(args, /S_IF[A-Z]*/)) key = substr(args, RSTART, RLENGTH)
      sub(/[)].*/, "", key); seen[name "\t" key] = 1 }
    END { for (k in seen) print k "\t" label }' "$trace/t"
done | sort
