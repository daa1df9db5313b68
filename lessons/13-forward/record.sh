#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: one step of ResNet18 in
# DataParallel on two devices that compute nothing: only the calls are needed.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a resnet18 --dataset generated --device-type null \
  --mode dp --devices 2 -b 4 --steps 1 --trace lessons/13-forward/trace.json.gz
