# `./lockstep book`: sourced by ../lockstep, whose functions it uses.
#
#   --no-open   builds the book and prints its path
#   --pdf       also prints it to build/book.pdf with Chromium
# shellcheck shell=bash disable=SC2154  # root and build are the wrapper's

book_usage() {
  echo 'usage: ./lockstep book [--no-open] [--pdf]'
  sed -n '3,4s/^# //p' "$root/book/build.bash"
}

book() {
  local arg open=1 pdf='' log=$build/book.log start=$SECONDS page
  for arg; do
    case $arg in
      --no-open) open='' ;;
      --pdf) pdf=1 ;;
      -h | --help) book_usage; return ;;
      *) say "book: unknown option $arg; ./lockstep book --help lists them"; exit 2 ;;
    esac
  done
  ensure_packages book
  lock
  say 'building the book'
  if ! bash "$root/book/make.bash" "$build/book" > "$log" 2>&1; then
    unlock
    show_errors "$log" 0 'WARNING|ERROR|^book:|[Ee]rror'
    die "the book cannot be built; full log: $log"
  fi
  unlock
  grep '^book:' "$log" >&2 || true
  page=$build/book/index.html
  say "the book is built in $(( SECONDS - start )) s: $page"
  if [[ $pdf ]]; then
    bash "$root/book/pdf.bash" "$build/book" "$build/book.pdf" > "$log" 2>&1 ||
      die "$(tail -n 1 "$log")"
    say "printed: $build/book.pdf"
  fi
  if [[ $open && ${DISPLAY:-}${WAYLAND_DISPLAY:-} ]] && command -v xdg-open > /dev/null
  then
    xdg-open "$page" > /dev/null 2>&1 || say "xdg-open cannot show it: open $page"
  fi
  echo "$page"
}
