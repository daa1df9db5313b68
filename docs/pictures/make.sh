#!/usr/bin/env bash
# Makes the pictures of the README: records a DataParallel and a DDP run, re-times them
# on devices with hardware of their own, and has the viewer draw. Needs ffmpeg for the
# animation.
#
#   docs/pictures/make.sh [FOLDER-WITH-CIFAR-10]      # from the repository's root
set -euo pipefail
cd "$(dirname "$0")/../.."
lockstep=${LOCKSTEP_BIN:-./lockstep}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

data=(--dataset generated)
if [[ ${1:-} ]]; then data=("$1" --dataset cifar10); fi
"$lockstep" train "${data[@]}" -a resnet18 --mode dp --devices 4 -b 32 --seed 1 \
  --threads-per-device 1 --steps 4 --trace "$work/dp.json.gz" --trace-steps 2:4
"$lockstep" emulate "$work/dp.json.gz" -o "$work/emulated.json.gz" > "$work/log"

"$lockstep" view "$work/emulated.json.gz" --at 2:replicate --size 1440x900 \
  --screenshot docs/pictures/viewer.png
"$lockstep" view "$work/emulated.json.gz" --at 2:scatter --size 1200x750 \
  --fps 20 --seconds 9 --speed 2 --video docs/pictures/viewer.webp

"$lockstep" train "${data[@]}" -a resnet18 --mode ddp --devices 4 -b 32 --seed 1 \
  --threads-per-device 1 --steps 4 --trace "$work/ddp.json.gz" --trace-steps 2:4
"$lockstep" emulate "$work/ddp.json.gz" -o "$work/ddp_emulated.json.gz" > "$work/log"
"$lockstep" view "$work/ddp_emulated.json.gz" --at 2:all_reduce --size 1440x900 \
  --screenshot docs/pictures/ddp.png
