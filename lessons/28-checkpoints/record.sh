#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: the end of an epoch and the
# beginning of the next on two ranks, with a checkpoint between them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"${LOCKSTEP_BIN:-./lockstep}" train -a toy --dataset random --length 20 --mode ddp \
  --devices 2 -b 6 -j 0 --seed 3 --epochs 2 --trace-steps 0:10 \
  --checkpoint "$folder" --trace lessons/28-checkpoints/trace.json.gz
