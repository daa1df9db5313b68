#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: nine steps of three ranks,
# which average their weights after the steps 0, 4 and 8.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a toy --dataset random --mode local-sgd \
  --local-steps 4 --devices 3 -b 6 -j 0 --seed 3 --lr 0.1 --steps 9 --trace-steps 0:9 \
  --trace lessons/23-local-sgd/trace.json.gz
