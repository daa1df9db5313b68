#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: a step of AlexNet in four
# stages with 1F1B and eight micro-batches, on devices that compute nothing: the order
# and the bytes are what is needed.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a alexnet --dataset generated --image-size 64 \
  --device-type null \
  --mode model-parallel --split features.3,features.8,classifier --devices 4 \
  --pipeline-schedule 1f1b --micro-batches 8 -b 16 --steps 1 \
  --trace lessons/18-pipeline/trace.json.gz
