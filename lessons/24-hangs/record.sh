#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: six steps of three ranks that
# all make the same calls.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a toy --dataset random --mode ddp --devices 3 -b 6 \
  -j 0 --seed 3 --steps 6 --trace-steps 0:6 --trace lessons/24-hangs/trace.json.gz
