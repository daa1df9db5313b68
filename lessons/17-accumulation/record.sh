#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: the third group of four
# micro-batches of the toy network on two ranks, with one exchange of gradients.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a toy --dataset random --length 480 --mode ddp \
  --devices 2 -b 24 --accumulate 4 --steps 12 --trace-steps 8:12 --device-type null \
  --trace lessons/17-accumulation/trace.json.gz
