#!/usr/bin/env bash
# Records this lesson's trace, from the repository's root, with Debian's PyTorch: the
# third to fifth step of DistributedDataParallel with the solution's hook, on three
# ranks, as the solution's profile_step records it.
set -euo pipefail
lockstep=${LOCKSTEP_BIN:-./lockstep}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
lesson() { LOCKSTEP_LESSON_SEED=0 "$lockstep" lesson "$@"; }
lesson start --workspace "$folder" 27 > "$folder/start.txt"
lesson solution --workspace "$folder" 27 --show-anyway > "$folder/solution.py"
mv "$folder/solution.py" "$folder/27-back-to-python/lab.py"
lesson check --workspace "$folder" 27
cd "$folder/27-back-to-python/traces/profile"
for rank in 0 1 2; do
  "$lockstep" trace import "rank-$rank.json" -o "rank-$rank.json.gz"
done
"$lockstep" trace merge rank-?.json.gz -o merged.json.gz
cp merged.json.gz "$OLDPWD/lessons/27-back-to-python/trace.json.gz"
