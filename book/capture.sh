#!/usr/bin/env bash
# Captures the program's output for the book's pages. Each file of book/output begins
# with the commands as the user types them in the repository's root: those that record
# the trace, and the one whose output follows. Takes at most two minutes; needs no GPU.
#
#   book/capture.sh          # from anywhere; LOCKSTEP_BIN names another program
set -euo pipefail
cd "$(dirname "$0")/.."
lockstep=$(realpath "${LOCKSTEP_BIN:-build/release/lockstep}")
root=$PWD
into=$root/book/output
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LOCKSTEP_PROGRAM=./lockstep NO_COLOR=1
mkdir -p "$into"
mkdir -p "$work/tests"
cp -r tests/golden "$work/tests/"
cd "$work"
before=()  # what was typed to record this trace

prints() {  # prints NAME ARGUMENT…: captures one command, whatever its exit code
  local name=$1
  shift
  local code=0
  "$lockstep" "$@" > out 2>&1 < /dev/null || code=$?
  { printf '%s\n' "${before[@]}" "$(typed "$@")" | sed '/^$/d'; cat out; } \
    > "$into/$name.txt"
  if (( code != 0 )); then printf '$ echo $?\n%d\n' "$code" >> "$into/$name.txt"; fi
  echo "$name: $(wc -l < "$into/$name.txt") lines, exit $code" >&2
}
quietly() {
  "$lockstep" "$@" > out 2>&1 < /dev/null || { cat out >&2; exit 1; }
  before+=("$(typed "$@")")
}
typed() {  # breaks long commands
  fold -s -w 84 <<< "\$ ./lockstep $*" | sed 's/ *$//; $!s/$/ \\/; 2,$s/^/      /'
}

generated=(--dataset generated --seed 1)
prints toy train -a toy --devices 2 -b 30 --steps 2
prints idle train -a toy --devices 8 -b 9 --steps 1

quietly train "${generated[@]}" --device-type null -a resnet18 --gpu 0 -b 32 --steps 1 \
  --trace single.json
prints calls trace summary --calls single.json

before=()
quietly train "${generated[@]}" -a resnet18 --devices 4 -b 32 --steps 3 \
  --threads-per-device 1 --trace dp.json --trace-steps 2:3
prints dp-check trace check dp.json
prints emulate emulate dp.json -o dp_emulated.json

before=()
quietly train "${generated[@]}" -a resnet18 --mode ddp --devices 4 -b 32 --steps 3 \
  --threads-per-device 1 --trace ddp.json --trace-steps 2:3
prints ddp-check trace check ddp.json
quietly emulate ddp.json -o ddp_emulated.json
prints ddp-summary trace summary ddp_emulated.json

before=()
prints minimal trace check tests/golden/minimal.json
prints damaged trace check tests/golden/damaged/replicate-bytes.buffers-missing.json
quietly train "${generated[@]}" --device-type null -a vgg16 --mode dp --devices 8 \
  --image-size 224 --classes 1000 --length 64 -b 64 --steps 1 --trace vgg16.json
prints null-ports trace summary vgg16.json
before=()
prints legacy train "${generated[@]}" --device-type null -a vgg16_legacy -b 4 --steps 1

null=("${generated[@]}" --device-type null --steps 1)
prints detective train "${generated[@]}" --device-type null -a vgg16_legacy --mode dp \
  -b 1600 --trace legacy.json
prints detective-single train "${null[@]}" -a vgg16_legacy --gpu 0 -b 2
prints detective-fixed train "${null[@]}" -a vgg16 --mode dp -b 1600
prints detective-224 train "${null[@]}" -a vgg16_legacy --mode dp -b 8 --image-size 224 \
  --length 8

before=()
mkdir -p tracer/emulate
cp -r "$root/tracer/emulate/scoreboard" tracer/emulate/
prints scoreboard emulate --scoreboard tracer/emulate/scoreboard/published.csv
