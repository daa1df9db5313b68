#!/usr/bin/env bash
# Renders the book's figures from the traces of tests/golden/viewer and of the lessons.
# Needs no display.
#
#   book/figures.sh          # from anywhere; LOCKSTEP_BIN names another program
set -euo pipefail
cd "$(dirname "$0")/.."
lockstep=$(realpath "${LOCKSTEP_BIN:-build/release/lockstep}")
traces=tests/golden/viewer
mkdir -p book/figures

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

show() {  # show NAME FILE OPTION…
  "$lockstep" view "$2" --size 1280x800 "${@:3}" \
    --screenshot "book/figures/$1.png"
  echo "$1: $(( $(stat -c %s "book/figures/$1.png") / 1024 )) KB" >&2
}

draw() {  # draw NAME TRACE OPTION…
  show "$1" "$traces/$2.json.gz" "${@:3}"
}

draw_fast() {  # draw_fast NAME LESSON OPTION…: with devices 30 times as fast
  "$lockstep" emulate "lessons/$2/trace.json.gz" --compute-scale 30 \
    -o "$work/$2.json.gz" > /dev/null
  show "$1" "$work/$2.json.gz" "${@:3}"
}

draw single-forward single --at 2:forward
draw single-backward single --at 2:backward
draw dp-scatter dp --at 2:scatter
draw dp-replicate dp --at 2:replicate
draw dp-parallel-apply dp --at 2:parallel_apply
draw dp-reduce dp --at 2:reduce
draw dp-tree dp --at 2:forward --tree
draw ddp-all-reduce ddp --at 1:all_reduce
# A run that fails: its trace ends at the call that failed.
"$lockstep" train --dataset generated --device-type null -a vgg16_legacy --mode dp \
  -b 1600 --trace "$work/detective.json" > /dev/null 2>&1 || true
show detective "$work/detective.json"
show apply-threads lessons/14-apply/trace.json.gz --at 1:parallel_apply
show host-lead lessons/04-async-time/trace.json.gz --at 0:forward
draw_fast naive-wall 11-ddp-naive --at @27.5ms
draw_fast bucket-overlap 12-ddp-buckets --at @18.5ms

plot() {  # plot NAME PROGRAM: gnuplot draws the rows of the scoreboard
  "$lockstep" emulate --scoreboard tracer/emulate/scoreboard/published.csv \
    --csv "$work/rows.csv" > /dev/null
  gnuplot -e "rows='$work/rows.csv'; out='book/figures/$1.png'" "$2"
  echo "$1: $(( $(stat -c %s "book/figures/$1.png") / 1024 )) KB" >&2
}
plot scoreboard-rows book/scoreboard.gp
