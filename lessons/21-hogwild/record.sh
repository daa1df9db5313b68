#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: three workers that train the
# toy network without a lock. Who comes when is different in every run.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a toy --dataset random --length 60 --mode hogwild \
  --devices 3 -b 6 -j 0 --seed 3 --momentum 0 --steps 10 --trace-steps 0:10 \
  --trace lessons/21-hogwild/trace.json.gz
