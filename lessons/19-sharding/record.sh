#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: two epochs of the toy network
# on ten samples and four ranks, each with its evaluation. The devices compute nothing:
# who reads what is what is needed.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a toy --dataset random --length 10 --mode ddp \
  --devices 4 -b 4 -j 0 --epochs 2 --seed 3 --trace-steps 0:14 --device-type null \
  --trace lessons/19-sharding/trace.json.gz
