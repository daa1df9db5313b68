#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: a step of VGG16 with only its
# features on four devices, re-timed on devices with hardware of their own.
set -euo pipefail
lockstep=${LOCKSTEP_BIN:-./lockstep} measured=$(mktemp --suffix .json.gz)
"$lockstep" train -a vgg16 --dataset generated --length 32 --mode dp-features \
  --devices 4 -b 16 --lr 0.01 --threads-per-device 1 --steps 2 --trace-steps 1:2 \
  --trace "$measured"
"$lockstep" emulate "$measured" -o lessons/07-dp-cost/trace.json.gz
rm "$measured"
