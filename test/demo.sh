#!/bin/sh
# The main job of clawsh, offline: a scratch home, a small project, a question about its files answered by the built-in
# mock model, the receipts that this left, and their verification. Usage: test/demo.sh BIN
set -eu
bin=$(cd "${1:-bin}" && pwd)
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
HOME=$home CLAWSH_HOME=$home/.clawsh PATH=$bin:$PATH
export HOME CLAWSH_HOME PATH
unset CLAWSH_CONFIG

# run shows a command as it would be typed, and runs it.
run() {
  printf '\n$'
  for word; do
    case $word in
    *[!A-Za-z0-9_./=-]*) printf " '%s'" "$word" ;;
    *) printf ' %s' "$word" ;;
    esac
  done
  echo
  "$@"
}

run clawsh init
printf '# A small project\n' >"$HOME/clawsh-workspace/README.md"
printf 'package main\n\nfunc main() {}\n' >"$HOME/clawsh-workspace/main.go"
run clawsh -n "What files are in this project?"
run clawsh receipt list --table
run clawsh receipt verify
