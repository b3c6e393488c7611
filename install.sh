#!/bin/sh
# Installs clawsh below a directory, and removes it again:
#
#   install.sh install PREFIX BIN SHARE     the programs of BIN into PREFIX/bin, and all files of SHARE into PREFIX/share
#   install.sh uninstall PREFIX             what install has put there, and nothing else
#
# PREFIX/share/clawsh/installed lists what install made: a line "f PATH" for each file and "d PATH" for each directory.
set -eu
programs="clawsh claw-llm claw-gate claw-exec claw-receipt claw-mem claw-loop"
list=share/clawsh/installed

fail() {
  echo "install.sh: error: $1" >&2
  exit "${2:-1}"
}

# directory makes a directory below the prefix and those above it, and notes each that was not there.
directory() {
  [ -d "$1" ] && return
  case $1 in */*) directory "${1%/*}" ;; esac
  mkdir -m 755 "$1"
  echo "d $1" >>"$new"
}

# below checks the list that is there: each name is below the prefix, and no link leads elsewhere on the way to it.
below() { # below PREFIX, which is the working directory
  dir=
  for part in share clawsh installed; do
    dir=$dir${dir:+/}$part
    [ ! -L "$dir" ] || fail "$dir below $1 is a link: nothing was changed"
  done
  while IFS= read -r entry || [ -n "$entry" ]; do
    path=${entry#[fd] }
    case $entry in
    "f "?* | "d "?*) ;;
    *) fail "$list below $1 has a line that install.sh has not written: nothing was changed" ;;
    esac
    case /$path/ in
    */../* | //*) fail "$list names $path, which is not below $1: nothing was changed" ;;
    esac
    while :; do
      case $path in */*) path=${path%/*} ;; *) break ;; esac
      [ ! -L "$path" ] || fail "$list names ${entry#[fd] }, but $path below $1 is a link: nothing was changed"
    done
  done <$list
}

put() { # put MODE FILE PATH
  directory "${3%/*}"
  install -m "$1" "$2" "$3.new"
  mv -f "$3.new" "$3"
  echo "f $3" >>"$new"
}

install_all() {
  bin=$(cd "$2" && pwd)
  share=$(cd "$3" && pwd)
  mkdir -p "$1"
  cd "$1"
  new=$(mktemp)
  trap 'rm -f "$new"' EXIT
  if [ -e $list ] || [ -L $list ]; then
    below "$1"
  fi
  if [ -f $list ]; then # of the version before: its directories are ours, its files go if this version has them no more
    grep '^d ' $list >>"$new" || true
  fi
  for p in $programs; do
    put 755 "$bin/$p" "bin/$p"
  done
  (cd "$share" && find . -type f | LC_ALL=C sort) | while IFS= read -r f; do
    put 644 "$share/${f#./}" "share/${f#./}"
  done
  if [ -f $list ]; then
    sed -n 's/^f //p' $list | while IFS= read -r old; do
      grep -qxF "f $old" "$new" || rm -f "./$old"
    done
  fi
  directory share/clawsh
  echo "f $list" >>"$new"
  install -m 644 "$new" $list
}

uninstall_all() {
  [ -f "$1/$list" ] || fail "$1 has no $list: install.sh has not installed clawsh there"
  cd "$1"
  below "$1"
  old=$(mktemp)
  trap 'rm -f "$old"' EXIT
  cp $list "$old"
  sed -n 's/^f //p' "$old" | while IFS= read -r f; do
    rm -f "./$f"
  done
  # the deepest first; what holds something else stays
  sed -n 's/^d //p' "$old" | LC_ALL=C sort -r | while IFS= read -r d; do
    rmdir "./$d" 2>/dev/null || true
  done
}

case "${1:-}:$#" in
install:4) install_all "$2" "$3" "$4" ;;
uninstall:2) uninstall_all "$2" ;;
*) fail "usage: install.sh install PREFIX BIN SHARE | install.sh uninstall PREFIX" 64 ;;
esac
