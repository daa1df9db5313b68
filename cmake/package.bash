# `./lockstep package`: sourced by ../lockstep, whose functions it uses. Builds the
# program and makes a Debian package and a tarball of it in build/packages, with the
# book if build/book exists.
# shellcheck shell=bash disable=SC2154  # root and build are the wrapper's

package() {
  local log=$build/package.log packages=$build/packages
  if (( $# )); then
    echo 'usage: ./lockstep package'
    sed -n '1,3s/^# //p' "$root/cmake/package.bash"
    [[ $1 == -h || $1 == --help ]] || exit 2
    return
  fi
  ensure_packages required window package
  configure release
  trap 'rm -f "$build/release/.configured"' EXIT  # later builds: for this machine's GPU
  lock
  cmake -DLOCKSTEP_GPUS=ALL "$build/release" > "$log" 2>&1 ||
    die "configuration for all GPUs failed; full log: $log"
  unlock
  build release lockstep
  if [[ ! -e $build/book/index.html ]]; then
    say 'packaging without the book; to include it, run ./lockstep book first'
  fi
  lock
  rm -rf "$packages"
  if ! cpack --config "$build/release/CPackConfig.cmake" > "$log" 2>&1; then
    show_errors "$log" 2 'Error|error'
    die "the packages cannot be made; full log: $log"
  fi
  rm -rf "$packages/_CPack_Packages"
  unlock
  ls "$packages"/lockstep*
}
