#!/usr/bin/env bash
# Compares the behaviour of two builds of lockstep, event by event.
#
#   compare_runs.bash BEFORE AFTER    # two programs
#
# Records small runs of every mode and device type with both and compares their traces
# (compare_traces.py). Prints a line for each run; exits 0 if all are equal.
set -euo pipefail
tools=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if (( $# != 2 )); then sed -n '2,7s/^# \?//p' "$0"; exit 2; fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
different=0

compare() {  # compare NAME OPTION…: options of `train`
  local name=$1 program number=0
  for program in "$before" "$after"; do
    number=$(( number + 1 ))
    "$program" train "${@:2}" -j 1 --trace "$folder/$number.json" > "$folder/log" 2>&1 ||
      { cat "$folder/log"; exit 1; }
  done
  printf '%s: ' "$name"
  python3 "$tools/compare_traces.py" "$folder/1.json" "$folder/2.json" || different=1
}

before=$(readlink -f "$1") after=$(readlink -f "$2")
images=(--dataset generated -b 16 --steps 3 --trace-steps 0:3)
for type in null cpu; do
  compare "single, $type" "${images[@]}" --mode single --device-type $type
  compare "DataParallel, $type" "${images[@]}" --mode dp --devices 4 --device-type $type
  compare "DDP, $type" "${images[@]}" --mode ddp --devices 4 --device-type $type
done
compare 'accumulation and evaluation, null' "${images[@]}" --mode ddp --devices 2 \
  --accumulate 2 --length 64 --epochs 1 --device-type null
compare 'VGG16, features only, null' "${images[@]}" -a vgg16_bn --devices 2 \
  --mode dp-features --device-type null
compare 'the notebook, reference' --dataset random -a toy --mode dp --devices 2 -b 4 \
  --steps 3 --trace-steps 0:3 --device-type reference
exit $different
