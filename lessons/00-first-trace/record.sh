#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: the second step of ResNet18 on
# four ranks, re-timed on devices with hardware of their own.
set -euo pipefail
lockstep=${LOCKSTEP_BIN:-./lockstep} measured=$(mktemp --suffix .json.gz)
"$lockstep" train -a resnet18 --dataset generated --length 256 --mode ddp --devices 4 \
  -b 64 --lr 0.01 --threads-per-device 1 --steps 2 --trace-steps 1:2 --trace "$measured"
"$lockstep" emulate "$measured" -o lessons/00-first-trace/trace.json.gz
rm "$measured"
