#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: one step of ResNet18 on one
# device.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a resnet18 --dataset generated --gpu 0 -b 8 \
  --lr 0.01 --steps 1 --trace lessons/01-tape/trace.json.gz
