#!/usr/bin/env bash
# Records this lesson's trace; run from the repository's root.
./lockstep train -a toy --mode ddp --devices 4 -b 32 --steps 2 --device-type reference \
  --dtype float64 --trace lessons/09-ring/trace.json.gz
