#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: the third step of ResNet18 on
# two ranks with the engine's reducer, re-timed on devices with hardware of their own.
set -euo pipefail
lockstep=${LOCKSTEP_BIN:-./lockstep} measured=$(mktemp --suffix .json.gz)
"$lockstep" train -a resnet18 --dataset generated --mode ddp --devices 2 -b 32 --steps 3 \
  --threads-per-device 1 --trace-steps 2:3 --trace "$measured"
"$lockstep" emulate "$measured" -o lessons/12-ddp-buckets/trace.json.gz
rm "$measured"
