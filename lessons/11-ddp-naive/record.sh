#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: the third step of ResNet18 on
# two ranks, synchronised by this lesson's solution, re-timed on devices with hardware of
# their own.
set -euo pipefail
lockstep=${LOCKSTEP_BIN:-./lockstep} lesson=11-ddp-naive
LOCKSTEP_WORKSPACE=$(mktemp -d) && export LOCKSTEP_WORKSPACE
trap 'rm -r "$LOCKSTEP_WORKSPACE"' EXIT
measured=$LOCKSTEP_WORKSPACE/measured.json.gz
"$lockstep" lesson start $lesson
"$lockstep" lesson solution $lesson --show-anyway \
  > "$LOCKSTEP_WORKSPACE/$lesson/naive_sync.cpp"
"$lockstep" lesson check $lesson
"$lockstep" lesson run --mine -- -a resnet18 --dataset generated --mode ddp --devices 2 \
  -b 32 --steps 3 --threads-per-device 1 --trace-steps 2:3 --trace "$measured"
"$lockstep" emulate "$measured" -o lessons/$lesson/trace.json.gz
