#!/usr/bin/env bash
# Prints the built book to one PDF with Chromium.
#
#   book/pdf.bash BUILT-BOOK FILE.pdf
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
book=${1:?"usage: book/pdf.bash BUILT-BOOK FILE.pdf"} into=${2:?}
chromium=$(command -v chromium || command -v chromium-browser || true)
if [[ ! $chromium ]]; then
  echo "book: no chromium here; fix: apt-get install chromium" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Joins all pages into one, with every fold open and the answers at the back.
PYTHONPATH=$here /usr/bin/python3 -m literate.one_page "$book" "$work/book.html"
"$chromium" --headless=new --no-sandbox --disable-gpu --no-first-run \
  --user-data-dir="$work/profile" --virtual-time-budget=60000 --no-pdf-header-footer \
  --generate-pdf-document-outline --print-to-pdf="$work/book.pdf" \
  "file://$work/book.html" > "$work/log" 2>&1 || true
if [[ ! -s $work/book.pdf ]]; then
  tail -n 3 "$work/log" >&2
  echo "book: chromium printed nothing; fix: open the book and print from there" >&2
  exit 1
fi
mv "$work/book.pdf" "$into"
