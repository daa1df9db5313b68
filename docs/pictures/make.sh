#!/usr/bin/env bash
# Makes the pictures of the README and of docs/: records a DataParallel and a DDP run,
# emulates them on devices with separate hardware, and renders them with the viewer. The
# animation needs ffmpeg.
#
#   docs/pictures/make.sh [FOLDER-WITH-CIFAR-10]      # from the repository's root
set -euo pipefail
cd "$(dirname "$0")/../.."
lockstep=${LOCKSTEP_BIN:-./lockstep}
pictures=docs/pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fps=10

data=(--dataset generated)
if [[ ${1:-} ]]; then data=("$1" --dataset cifar10); fi

# record MODE: a trace of two steps on the emulated clock, $work/MODE.json.gz
record() {
  "$lockstep" train "${data[@]}" -a resnet18 --mode "$1" --devices 4 -b 64 --seed 1 \
    --threads-per-device 1 --steps 4 --trace-steps 2:4 --trace "$work/measured.json.gz"
  "$lockstep" emulate "$work/measured.json.gz" -o "$work/$1.json.gz" > "$work/log"
}

view() { "$lockstep" view "$work/dp.json.gz" --size 1200x840 "$@"; }

# number WORD OPTIONS…: the viewer's position, given as "place 12" or "#34"
number() {
  view "${@:2}" | sed -E "s/.*$1([0-9]+).*/\1/"
}

# scene AT SECONDS: plays the event AT from its beginning to its end. The viewer seeks
# to the middle of an event, so the scene starts at the previous event, which is cut
# off.
scene() {
  local still="$work/still.png" first=2:DataParallel.forward events before
  events=$(($(number "place " --at "$1" --screenshot "$still") -
            $(number "place " --at $first --screenshot "$still") - 1))
  before=$(number "#" --at $first --fps 1 --seconds 1 --video "$work/still%d.png" \
    --speed "$(calculate "$events / 4 + 0.001")")
  view --at "#$before" --fps $fps --seconds "$(calculate "1.5 * $2")" \
    --speed "$(calculate "1 / 4 / $2")" --video "$work/frame%04d.png" > "$work/log"
  take "$(calculate "int(0.5 * $2 * $fps)")" "$(calculate "int($2 * $fps)")"
}

# sweep SECONDS: the whole step in recorded order, on all devices at once
sweep() {
  local step
  step=$("$lockstep" trace summary --json "$work/dp.json.gz" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["train"]["steps"][0]["seconds"])')
  view --at 2:forward --time-order --pace real --speed "$(calculate "0.98 * $step / $1")" \
    --fps $fps --seconds "$1" --video "$work/frame%04d.png" > "$work/log"
  take 0 "$(calculate "int($1 * $fps)")"
}

# take FIRST COUNT: appends frames of the last film to the animation
frames=0
take() {
  local i
  for ((i = $1; i < $1 + $2; ++i)); do
    mv "$work/$(printf 'frame%04d.png' "$i")" \
      "$work/$(printf 'film%04d.png' "$frames")"
    frames=$((frames + 1))
  done
}

calculate() { awk "BEGIN { print $1 }"; }

record dp
scene 2:scatter 1.4
scene 2:replicate 1.7
scene 2:parallel_apply 1
scene 2:ResNet.forward 1.4
scene 2:gather 1.1
scene 2:backward 1.5
scene 2:reduce 1.7
sweep 2.2
ffmpeg -loglevel error -y -framerate $fps -i "$work/film%04d.png" \
  -c:v libwebp_anim -lossless 1 -compression_level 6 -loop 0 \
  "$pictures/data_parallel.webp"
"$lockstep" view "$work/dp.json.gz" --at 2:replicate --size 1440x900 \
  --screenshot "$pictures/viewer.png"

record ddp
"$lockstep" view "$work/ddp.json.gz" --at 2:all_reduce --size 1440x900 \
  --screenshot "$pictures/ddp.png"
