#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: six steps of three workers and a
# parameter server, one worker of which is slow.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a toy --dataset random --mode ps --devices 3 -b 6 \
  -j 0 --seed 3 --steps 6 --slow-rank 1:3x --trace-steps 0:6 \
  --trace lessons/29-kills/trace.json.gz
