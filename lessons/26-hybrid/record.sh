#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: a step of VGG16 on nine images,
# features on three devices and the classifier on the fourth. Nothing is computed.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a vgg16 --dataset generated --length 18 \
  --device-type null --mode hybrid --devices 4 -b 9 -j 0 --seed 3 --steps 2 \
  --trace-steps 1:2 --trace lessons/26-hybrid/trace.json.gz
