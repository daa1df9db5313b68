#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: a step of AlexNet on ten
# images, in chunks of 3, 3, 3 and 1, each with its own loss. Nothing is computed.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a alexnet --dataset generated --length 10 \
  --image-size 64 --device-type null --mode dp-criterion --devices 4 -b 10 -j 0 --steps 1 \
  --trace-steps 0:1 --trace lessons/25-balanced-loss/trace.json.gz
