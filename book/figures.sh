#!/usr/bin/env bash
# Renders the book's figures from the traces of tests/golden/viewer. Needs no display.
#
#   book/figures.sh          # from anywhere; LOCKSTEP_BIN names another program
set -euo pipefail
cd "$(dirname "$0")/.."
lockstep=$(realpath "${LOCKSTEP_BIN:-build/release/lockstep}")
traces=tests/golden/viewer
mkdir -p book/figures

draw() {  # draw NAME TRACE OPTION…
  "$lockstep" view "$traces/$2.json.gz" --size 1280x800 "${@:3}" \
    --screenshot "book/figures/$1.png"
  echo "$1: $(( $(stat -c %s "book/figures/$1.png") / 1024 )) KB" >&2
}

draw single-forward single --at 2:forward
draw single-backward single --at 2:backward
draw dp-scatter dp --at 2:scatter
draw dp-replicate dp --at 2:replicate
draw dp-parallel-apply dp --at 2:parallel_apply
draw dp-reduce dp --at 2:reduce
draw dp-tree dp --at 2:forward --tree
draw ddp-all-reduce ddp --at 1:all_reduce
