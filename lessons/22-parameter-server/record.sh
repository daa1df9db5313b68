#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: three workers, of which one is
# three times as slow, train a linear model on one server; nobody may be more than one
# step ahead. The first steps, which are slow, are left out. Who comes when is different
# in every run.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a sparse --features 1000000 --nonzeros 200000 \
  --length 60 --mode ps --consistency ssp --staleness 1 --slow-rank 2:3x --devices 3 \
  -b 3 -j 3 --seed 3 --momentum 0 --steps 16 --trace-steps 4:16 \
  --trace lessons/22-parameter-server/trace.json.gz
