#!/usr/bin/env bash
# Builds the book; every warning is an error. Needs Debian's packages of section `book`.
#
#   book/make.bash FOLDER [options of sphinx-build]
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
into=${1:?"usage: book/make.bash FOLDER [options of sphinx-build]"}
sphinx=/usr/bin/sphinx-build  # Debian's, which finds Debian's furo
if [[ ! -x $sphinx ]]; then
  echo "book: no sphinx-build here; fix: ./lockstep book installs it" >&2
  exit 1
fi
mkdir -p "$into"
into=$(cd "$into" && pwd)
bash "$here/assets.bash" "$into.assets"
LOCKSTEP_BOOK_ASSETS=$into.assets "$sphinx" -q -E -W --keep-going -j auto -b html \
  -c "$here" -d "$into.doctrees" "${@:2}" "$here/.." "$into"
# The pages are named by their place in the repository; this is the entry page.
cat > "$into/index.html" << 'HTML'
<!doctype html><meta charset="utf-8"><title>lockstep</title>
<meta http-equiv="refresh" content="0; url=book/index.html">
<a href="book/index.html">The lockstep book</a>
HTML
