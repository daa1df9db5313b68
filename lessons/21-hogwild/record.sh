#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: three workers that train a
# linear model of 2,000,000 weights without a lock. An update takes long enough here to
# meet others, and the first steps, which are slow, are left out. Who comes when is
# different in every run.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a sparse --features 1000000 --nonzeros 1000000 \
  --length 60 --mode hogwild --devices 3 -b 3 -j 3 --seed 3 --momentum 0 --steps 18 \
  --trace-steps 4:18 --trace lessons/21-hogwild/trace.json.gz
