#!/usr/bin/env bash
# Runs ./lockstep from a fresh clone on a bare Debian, which lacks what packages.txt does
# not list. Needs root, debootstrap and a Debian mirror; exits 77 without them.
#
#   tests/bare/run.bash DIR demo                  # ./lockstep demo
#   tests/bare/run.bash DIR demo 'test --gate'    # one after the other
#   tests/bare/run.bash DIR -- COMMAND…           # any other command, in the clone
#
# DIR/base.tar.gz is the bare system, made once (minbase and git): delete it to make a
# new one. DIR/root is unpacked for each run, with a clone of HEAD in /src/lockstep, and
# stays for a look at it. The shared/ beside the checkout is there, too, read-only.
set -euo pipefail
suite=bookworm
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf 'bare: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
lacks() { say "$*"; exit 77; }  # this machine cannot make a bare Debian

make_base() {
  local mirror proxy
  command -v debootstrap > /dev/null ||
    lacks 'no debootstrap here; fix: apt-get install debootstrap'
  # shellcheck disable=SC2016  # apt's fields, not ours
  mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' \
    'Created-By: Packages' | awk -v suite=$suite '$1 == suite && !n++ {print $2}')
  [[ $mirror ]] || lacks "apt's sources do not name $suite; fix: add it to them"
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  if [[ ${proxy:-} && $proxy != DIRECT ]]; then
    local -x http_proxy=${http_proxy:-$proxy}
  fi
  say "making $base from $mirror"
  debootstrap --variant=minbase --include=git $suite "$system" "$mirror" \
    > "$folder/debootstrap.log" 2>&1 ||
    die "debootstrap failed; fix: see $folder/debootstrap.log"
  rm -f "$system"/var/cache/apt/archives/*.deb
  tar -czf "$base.new" --numeric-owner --xattrs -C "$system" .
  mv "$base.new" "$base"
}

copy() {  # copy FILE…: those that exist, to the same places in the system
  local file
  for file; do
    if [[ -e $file ]]; then
      mkdir -p "$system${file%/*}"
      cp -aLT "$file" "$system$file"
    fi
  done
}

configure_network() {  # apt, names and certificates as outside
  local apt=/etc/apt config file files
  rm -f "$system$apt/sources.list"  # debootstrap's
  copy $apt/{sources.list,sources.list.d,auth.conf,auth.conf.d,preferences,keyrings} \
    $apt/{preferences.d,trusted.gpg,trusted.gpg.d} /usr/share/keyrings \
    /etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates
  config=$(apt-config dump Acquire | grep -v '^Acquire::IndexTargets')
  if [[ ${config,,} != *cainfo* && -e /etc/ssl/certs/ca-certificates.crt ]]; then
    # Sources with HTTPS; ca-certificates is not installed yet.
    cp -L /etc/ssl/certs/ca-certificates.crt "$system$apt/outside.crt"
    config+=$'\n'"Acquire::https::CAInfo \"$apt/outside.crt\";"
  fi
  echo "$config" > "$system$apt/apt.conf.d/outside"
  mapfile -t files < <(grep -oE '"/[^"]+"' <<< "$config" | tr -d '"')
  for file in "${files[@]}"; do
    if [[ -f $file ]]; then copy "$file"; fi
  done
  printf '#!/bin/sh\nexit 101\n' > "$system/usr/sbin/policy-rc.d"  # starts no services
  chmod +x "$system/usr/sbin/policy-rc.d"
}

clone() {
  local changes
  changes=$(git -C "$checkout" status --porcelain)
  if [[ $changes ]]; then
    say 'the clone is of HEAD, without the uncommitted changes'
  fi
  mkdir -p "$system/src"
  git clone -q --no-hardlinks "$checkout" "$system/src/lockstep"
}

mount_all() {
  mount --bind "$system" "$system"  # / is a mount point, as outside
  trap 'umount --recursive --lazy "$system"' EXIT
  mount -t proc proc "$system/proc"
  mount --rbind /sys "$system/sys"
  mount --bind /dev "$system/dev"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$system/dev/pts"
  mount -t tmpfs -o mode=1777 shm "$system/dev/shm"
  if [[ -d $checkout/../shared ]]; then
    mkdir -p "$system/src/shared"
    mount --bind "$checkout/../shared" "$system/src/shared"
    mount -o remount,bind,ro "$system/src/shared"
  fi
}

run() {  # run COMMAND…: in the clone
  local environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    TERM="${TERM:-dumb}") name start code=0
  for name in CI {http,https,no}_proxy {HTTP,HTTPS,NO}_PROXY; do
    if [[ ${!name:-} ]]; then environment+=("$name=${!name}"); fi
  done
  start=$(date +%s.%N)
  # shellcheck disable=SC2016  # the inner shell's argument
  chroot "$system" /usr/bin/env -i "${environment[@]}" \
    /bin/bash -c 'export HOME=~root; cd /src/lockstep && exec "$@"' bash "$@" || code=$?
  say "$(awk "BEGIN {printf \"%.1f\", $(date +%s.%N) - $start}") s, exit code $code: $*"
  return $code
}

if (( $# < 2 )); then sed -n '2,11s/^# \?//p' "${BASH_SOURCE[0]}"; exit 2; fi
(( $(id -u) == 0 )) || lacks 'needs root, for chroot; fix: run it as root'
if [[ ! ${LOCKSTEP_BARE_MOUNTS:-} ]]; then
  unshare --mount true 2> /dev/null ||
    lacks 'no mounts here; fix: run it with CAP_SYS_ADMIN'
  # The mounts end with the last process that sees them, however it ends.
  export LOCKSTEP_BARE_MOUNTS=own
  exec unshare --mount --propagation private "$checkout/tests/bare/run.bash" "$@"
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
base=$folder/base.tar.gz system=$folder/root
shift
exec 9> "$folder/.lock"
flock -n 9 || die "another run uses $folder; fix: wait for it, or name another folder"
rm -rf "$system"
mkdir -p "$system"
if [[ -e $base ]]; then
  tar -xzf "$base" --numeric-owner --xattrs -C "$system"
else
  make_base
fi
configure_network
clone
mount_all
if [[ $1 == -- ]]; then
  run "${@:2}" 9>&-
  exit
fi
for command; do
  read -r -a words <<< "$command"
  run ./lockstep "${words[@]}" 9>&-
done
