#!/bin/bash
# Verifies receipts with bash, jq, sha256sum and openssl (3.0 or later) alone: nothing of clawsh's code. It is slow, and it is meant
# to be read beside docs/SCHEMAS.md.
#
#   verify.sh chain LOG...               every receipt's own hash and its link; prints how many there are and the last hash
#   verify.sh macs SECRETS LOG...        the chain, and every mac, by the key in keys/receipt/receipt.key that was in use
#   verify.sh head PUBLIC HEAD LOG...    the head's signature, its count, its hash and its size
#   verify.sh checkpoint PUBLIC FILE LOG...  the signature, and that the log begins with what was checkpointed
#   verify.sh proof PUBLIC FILE          the signature, and that the receipt is in the tree; prints the receipt
#   verify.sh consistency PUBLIC FILE [OLD]  both signatures, and that the newer tree begins with the older, which is the one in OLD
#
# The parts of a rotated log are given in their order, LOG.d/*.log before LOG. It prints "ok" last if, and only if, all is well.
set -euo pipefail
export LC_ALL=C

die() { echo "wrong: $*" >&2; exit 1; }
hex() { od -An -v -tx1 | tr -d ' \n'; }          # to hex
sha() { local h; h=$(sha256sum); echo "${h%% *}"; }
lines() { cat -- "$@"; }
escaped() {                                      # from hex, for printf
  local i
  for ((i = 0; i < ${#1}; i += 2)); do printf '\\x%s' "${1:i:2}"; done
}

chain() {
  local previous count=0 total canonical hash link
  previous=$(printf '0%.0s' $(seq 64))
  total=$(lines "$@" | wc -l)
  while IFS=$'\t' read -r hash link canonical; do
    count=$((count + 1))
    [ "$hash" = "$(printf %s "$canonical" | sha)" ] || die "receipt $count: its hash"
    [ "$previous" = "$link" ] || die "receipt $count: its link"
    previous=$hash
  done < <(paste <(lines "$@" | jq -r '[.receipt_hash, .previous_hash] | @tsv') <(lines "$@" | jq -cS 'del(.receipt_hash, .mac)'))
  [ "$count" = "$total" ] || die "line $((count + 1)) is no JSON"
  echo "$count $previous"
}

macs() {
  local keys=() from=() key=0 count=0 adopted last hash mac k n
  while read -r k n; do keys+=("$(base64 -d <<<"$k" | hex)") from+=("$n"); done < <(sed -n 's/^mac //p' "$1")
  read -r _ adopted last < <(grep '^adopted ' "$1")
  shift
  chain "$@" >/dev/null # a mac is of a hash: that has to be right, and no line be left out
  while IFS=$'\t' read -r hash mac; do
    count=$((count + 1))
    if [ -z "$mac" ]; then
      [ "$count" -le "$adopted" ] || die "receipt $count has no mac"
      [ "$count" -lt "$adopted" ] || [ "$hash" = "$last" ] || die "receipt $count is not the one that was the last when the key was made"
      continue
    fi
    while [ $((key + 1)) -lt "${#keys[@]}" ] && [ "${from[key + 1]}" -le "$count" ]; do key=$((key + 1)); done
    [ "$mac" = "$(printf 'clawsh receipt mac v1\n%s' "$hash" | openssl dgst -r -sha256 -mac HMAC -macopt "hexkey:${keys[key]}" | cut -c1-64)" ] || die "receipt $count: its mac"
  done < <(lines "$@" | jq -r '[.receipt_hash, .mac // ""] | @tsv')
  [ "$count" -ge "$adopted" ] || die "there were $adopted receipts when the key was made"
}

# note PUBLIC FILE: checks that one of the keys has signed the text of a signed note, and writes the text.
note() {
  local dir key name id public text sig
  dir=$(mktemp -d)
  trap "rm -rf '$dir'" RETURN
  sed '/^$/,$d' "$2" >"$dir/text"
  while read -r key _; do
    name=${key%%+*} id=${key#*+} public=${key#*+*+}
    id=${id%%+*}
    { printf '\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00'; base64 -d <<<"$public" | tail -c 32; } >"$dir/key" # RFC 8410
    sig=$(sed -n "s|^— $name ||p" "$2" | while read -r s; do [ "$(base64 -d <<<"$s" | head -c 4 | hex)" != "$id" ] || echo "$s"; done)
    [ -n "$sig" ] || continue
    base64 -d <<<"$sig" | tail -c 64 >"$dir/sig"
    openssl pkeyutl -verify -pubin -keyform DER -inkey "$dir/key" -rawin -in "$dir/text" -sigfile "$dir/sig" >/dev/null 2>&1 || die "the signature of $2"
    cat "$dir/text"
    return
  done <"$1"
  die "$2 is not signed by any of these keys"
}

node() { printf "\x01$(escaped "$1$2")" | sha; }
leaf() { printf '\0%s' "$1" | sha; }

# root COUNT: the Merkle tree hash (RFC 6962) of the first COUNT lines of its input.
root() {
  local stack=() sizes=() n=0 line h
  while [ "$n" -lt "$1" ] && IFS= read -r line; do
    n=$((n + 1))
    stack+=("$(leaf "$line")") sizes+=(1)
    while [ "${#sizes[@]}" -gt 1 ] && [ "${sizes[-1]}" = "${sizes[-2]}" ]; do
      h=$(node "${stack[-2]}" "${stack[-1]}")
      sizes[-2]=$((sizes[-1] * 2)) stack[-2]=$h
      unset 'stack[-1]' 'sizes[-1]'
    done
  done
  [ "$n" = "$1" ] || die "there are only $n receipts of $1"
  [ "$n" -gt 0 ] || { printf '' | sha; return; }
  while [ "${#stack[@]}" -gt 1 ]; do
    h=$(node "${stack[-2]}" "${stack[-1]}")
    stack[-2]=$h
    unset 'stack[-1]'
  done
  echo "${stack[0]}"
}

# inclusion INDEX COUNT LEAF HASH...: the root that an inclusion proof leads to (RFC 9162, 2.1.3.2).
inclusion() {
  local fn=$1 sn=$(($2 - 1)) r=$3 p
  shift 3
  for p in "$@"; do
    [ "$sn" -gt 0 ] || die "the proof is too long"
    if [ $((fn & 1)) = 1 ] || [ "$fn" = "$sn" ]; then
      r=$(node "$p" "$r")
      while [ $((fn & 1)) = 0 ] && [ "$fn" -gt 0 ]; do fn=$((fn >> 1)) sn=$((sn >> 1)); done
    else
      r=$(node "$r" "$p")
    fi
    fn=$((fn >> 1)) sn=$((sn >> 1))
  done
  [ "$sn" = 0 ] || die "the proof is too short"
  echo "$r"
}

head_() {
  local text origin count hash size all
  text=$(note "$1" "$2")
  shift 2
  { read -r origin; read -r count; read -r hash; read -r size; } <<<"$text"
  case $origin in */head) ;; *) die "it is no head" ;; esac
  all=$(chain "$@")
  [ "$all" = "$count $hash" ] || die "the head says $count $hash, the log is $all"
  [ "$size" = "$(lines "$@" | wc -c)" ] || die "the head says $size bytes"
}

checkpoint() {
  local text origin count want
  text=$(note "$1" "$2")
  shift 2
  { read -r origin; read -r count; read -r want; } <<<"$text"
  case $origin in */head) die "it is no checkpoint" ;; esac
  chain "$@" >/dev/null
  [ "$(lines "$@" | root "$count")" = "$(base64 -d <<<"$want" | hex)" ] || die "the first $count receipts are others"
}

proof() {
  local public=$1 file=$2 dir line index hashes=() h text count want
  dir=$(mktemp -d)
  trap "rm -rf '$dir'" RETURN
  [ "$(sed -n 1p "$file")" = "c2sp.org/tlog-proof@v1" ] || die "it is no proof"
  line=$(sed -n '2s/^extra //p' "$file" | base64 -d)
  index=$(sed -n '3s/^index //p' "$file")
  for h in $(sed -n '4,/^$/p' "$file"); do hashes+=("$(base64 -d <<<"$h" | hex)"); done
  sed '1,/^$/d' "$file" >"$dir/checkpoint"
  text=$(note "$public" "$dir/checkpoint")
  { read -r _; read -r count; read -r want; } <<<"$text"
  [ "$index" -lt "$count" ] || die "it is not among them"
  [ "$(inclusion "$index" "$count" "$(leaf "$line")" "${hashes[@]}")" = "$(base64 -d <<<"$want" | hex)" ] || die "it is not in the tree"
  printf '%s\n' "$line"
}

# consistent OLDCOUNT COUNT OLDROOT ROOT HASH...: checks a consistency proof (RFC 9162, 2.1.4.2).
consistent() {
  local fn=$(($1 - 1)) sn=$(($2 - 1)) old=$3 new=$4 fr sr c
  [ "$1" -gt 0 ] && [ "$1" -le "$2" ] || die "the counts"
  if [ "$1" = "$2" ]; then
    [ "$old" = "$new" ] && [ $# = 4 ] || die "two roots of as many receipts"
    return
  fi
  shift 4
  if [ $((fn & (fn + 1))) = 0 ]; then set -- "$old" "$@"; fi
  while [ $((fn & 1)) = 1 ]; do fn=$((fn >> 1)) sn=$((sn >> 1)); done
  [ $# -gt 0 ] || die "the proof is too short"
  fr=$1 sr=$1
  shift
  for c in "$@"; do
    [ "$sn" -gt 0 ] || die "the proof is too long"
    if [ $((fn & 1)) = 1 ] || [ "$fn" = "$sn" ]; then
      fr=$(node "$c" "$fr") sr=$(node "$c" "$sr")
      while [ $((fn & 1)) = 0 ] && [ "$fn" -gt 0 ]; do fn=$((fn >> 1)) sn=$((sn >> 1)); done
    else
      sr=$(node "$sr" "$c")
    fi
    fn=$((fn >> 1)) sn=$((sn >> 1))
  done
  [ "$sn" = 0 ] || die "the proof is too short"
  [ "$fr" = "$old" ] && [ "$sr" = "$new" ] || die "the newer tree does not begin with the older"
}

consistency() {
  local public=$1 file=$2 kept=${3-} dir h hashes=() text origin1 origin2 n1 n2 root1 root2 origin count root
  dir=$(mktemp -d)
  trap "rm -rf '$dir'" RETURN
  [ "$(sed -n 1p "$file")" = "clawsh-receipt-consistency-v1" ] || die "it is no consistency proof"
  for h in $(sed '1d;/^$/,$d' "$file"); do hashes+=("$(base64 -d <<<"$h" | hex)"); done
  sed '1,/^$/d' "$file" | awk -v dir="$dir" 'signed && !/^— / { n++; signed = 0 } /^— / { signed = 1 } { print >(dir "/" n + 1) }'
  [ -e "$dir/2" ] && [ ! -e "$dir/3" ] || die "want two checkpoints"
  text=$(note "$public" "$dir/1")
  { read -r origin1; read -r n1; read -r root1; } <<<"$text"
  text=$(note "$public" "$dir/2")
  { read -r origin2; read -r n2; read -r root2; } <<<"$text"
  [ "$origin1" = "$origin2" ] || die "they are of different logs"
  if [ -n "$kept" ]; then
    text=$(note "$public" "$kept")
    { read -r origin; read -r count; read -r root; } <<<"$text"
    [ "$origin $count $root" = "$origin1 $n1 $root1" ] || die "the older is not the one in $kept"
  fi
  consistent "$n1" "$n2" "$(base64 -d <<<"$root1" | hex)" "$(base64 -d <<<"$root2" | hex)" "${hashes[@]}"
}

case ${1-} in
chain | macs | checkpoint | proof | consistency) "$@" ;;
head) shift; head_ "$@" ;;
*) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 64 ;;
esac
echo ok
