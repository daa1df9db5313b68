#!/usr/bin/env bash
# Makes the packages and the book's PDF, and runs the program of the tarball where the
# checkout is not: a part of `./lockstep test --all`.
set -euo pipefail
root=$(readlink -f "${BASH_SOURCE[0]%/*}/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cd "$folder"
"$root/lockstep" book --no-open --pdf
"$root/lockstep" package
for package in "$root"/build/packages/lockstep*.deb; do
  dpkg-deb --info "$package"
done
tar -xf "$root"/build/packages/lockstep*.tar.gz
program=$(echo "$folder"/lockstep*/bin/lockstep)
"$program" train --device-type null -a toy --devices 2 --steps 2 --trace t.json
"$program" trace check t.json
"$program" view t.json --screenshot t.png
echo 'the packages work'
