#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: a step of ResNet18 with 8
# samples on four devices that compute nothing: only messages and memory are needed.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a resnet18 --dataset generated --device-type null \
  --mode dp --devices 4 -b 8 --steps 1 --trace lessons/15-replicate/trace.json.gz
