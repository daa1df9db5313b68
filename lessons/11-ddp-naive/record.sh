#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: the third step of ResNet18 on
# two ranks, synchronised by the engine's own naive class, re-timed on devices with
# hardware of their own. No learner's file and no solution is in it.
set -euo pipefail
lockstep=${LOCKSTEP_BIN:-./lockstep} measured=$(mktemp --suffix .json.gz)
"$lockstep" train -a resnet18 --dataset generated --mode ddp --devices 2 \
  --ddp-sync naive -b 32 --steps 3 --threads-per-device 1 --trace-steps 2:3 \
  --trace "$measured"
"$lockstep" emulate "$measured" -o lessons/11-ddp-naive/trace.json.gz
rm "$measured"
