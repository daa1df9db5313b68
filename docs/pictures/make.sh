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
fps=8

data=(--dataset generated)
if [[ ${1:-} ]]; then data=("$1" --dataset cifar10); fi

# record MODE: a trace of two steps on the emulated clock, $work/MODE.json.gz
record() {
  "$lockstep" train "${data[@]}" -a resnet18 --mode "$1" --devices 4 -b 64 --seed 1 \
    --threads-per-device 1 --steps 4 --trace-steps 2:4 --trace "$work/measured.json.gz"
  "$lockstep" emulate "$work/measured.json.gz" -o "$work/$1.json.gz" > "$work/log"
}

# film TRACE SPEED: the director's film of step 2, as the animation
film() {
  "$lockstep" view "$1" --at 2 --size 1200x840 --fps $fps --speed "$2" \
    --video "$work/film%04d.png"
  ffmpeg -loglevel error -y -framerate $fps -i "$work/film%04d.png" \
    -c:v libwebp_anim -quality 70 -compression_level 6 -loop 0 \
    "$pictures/data_parallel.webp"
}

record dp
film "$work/dp.json.gz" 2.5
"$lockstep" view "$work/dp.json.gz" --at 2:replicate --size 1440x900 \
  --screenshot "$pictures/viewer.png"

record ddp
"$lockstep" view "$work/ddp.json.gz" --at 2:all_reduce --size 1440x900 \
  --screenshot "$pictures/ddp.png"
