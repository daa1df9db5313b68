#!/usr/bin/env bash
# Builds the book with warnings as errors. Needs the Debian packages of section `book`.
#
#   book/make.bash FOLDER [options of sphinx-build]
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
into=${1:?"usage: book/make.bash FOLDER [options of sphinx-build]"}
sphinx=/usr/bin/sphinx-build  # Debian's: finds Debian's furo
if [[ ! -x $sphinx ]]; then
  echo "book: no sphinx-build here; fix: ./lockstep book installs it" >&2
  exit 1
fi
mkdir -p "$into"
into=$(cd "$into" && pwd)
bash "$here/assets.bash" "$into.assets"
LOCKSTEP_BOOK_ASSETS=$into.assets "$sphinx" -q -E -W --keep-going -j auto -b html \
  -c "$here" -d "$into.doctrees" "${@:2}" "$here/.." "$into"
# Pages have the paths of their sources; this file redirects to the first one.
cat > "$into/index.html" << 'HTML'
<!doctype html><meta charset="utf-8"><title>lockstep</title>
<meta http-equiv="refresh" content="0; url=book/index.html">
<a href="book/index.html">The lockstep book</a>
HTML
