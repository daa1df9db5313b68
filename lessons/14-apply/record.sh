#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: a step of ResNet18 with 10
# samples on four devices, re-timed on devices with hardware of their own.
set -euo pipefail
lockstep=${LOCKSTEP_BIN:-./lockstep} measured=$(mktemp --suffix .json.gz)
"$lockstep" train -a resnet18 --dataset generated --length 20 --mode dp --devices 4 \
  -b 10 --lr 0.01 --threads-per-device 1 --steps 2 --trace-steps 1:2 --trace "$measured"
"$lockstep" emulate "$measured" -o lessons/14-apply/trace.json.gz
rm "$measured"
