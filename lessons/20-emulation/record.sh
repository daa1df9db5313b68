#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: a step of ResNet18 with 32
# images and one with 16, on one device that has a core for itself. Record on an idle
# machine.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a resnet18 --dataset generated --length 80 --gpu 0 \
  -b 32 -j 0 --threads-per-device 1 --seed 3 --steps 7 --trace-steps 5:7 \
  --trace lessons/20-emulation/trace.json.gz
