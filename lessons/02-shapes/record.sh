#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root: one step of VGG16 on 32×32
# images, on a device that computes nothing: only shapes and bytes are needed.
set -euo pipefail
"${LOCKSTEP_BIN:-./lockstep}" train -a vgg16 --dataset generated --device-type null \
  --gpu 0 -b 2 --steps 1 --trace lessons/02-shapes/trace.json.gz
