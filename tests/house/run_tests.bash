# `./lockstep test`: sourced by ../../lockstep, whose functions it uses.
#
#   (nothing)            builds all, and tests what shows that it works here
#   PATH…                the tests of sources, tests, folders, lessons or documents
#   --changed            the same for what differs from origin/main
#   --gate               also wrong solutions of every lesson, the book, sanitizers; with
#                        CI=true this is the default
#   --all [PART…]        everything, or these parts: release asan tsan packages bare
# Options of ctest may follow, as -R NAME, and select among these tests.
# shellcheck shell=bash disable=SC2154  # root, build and launcher are the wrapper's

memory_is_kept=glibc.malloc.hugetlb=1
memory_is_kept+=:glibc.malloc.trim_threshold=1073741824
memory_is_kept+=:glibc.malloc.mmap_threshold=1073741824

usage() {
  echo 'usage: ./lockstep test [PATH… | --changed | --gate | --all [PART…]] [OPTIONS]'
  sed -n '3,9s/^# //p' "$root/tests/house/run_tests.bash"
}

print_versions() {
  uname -srm
  local tool
  for tool in g++ cmake ninja python3 clang-format-19 clang++-19; do
    if command -v $tool > /dev/null; then $tool --version | head -n 1; fi
  done
  # shellcheck disable=SC2016  # dpkg-query's fields
  dpkg-query -W -f '${Package} ${Version}\n' libdnnl-dev libgtest-dev 2> /dev/null || true
}

# test_release OPTION…: runs the tests of the release build that ctest selects
test_release() {
  local start=$SECONDS progress=()
  if [[ -t 1 ]]; then progress=(--progress); fi
  "${recorder[@]}" ctest --test-dir "$build/release" --output-on-failure --no-tests=error \
    --parallel "$jobs" --output-junit "$results/release.xml" "${progress[@]}" "$@" ||
    failed+=(release)
  printf 'release: tested in %d s\n' $(( SECONDS - start ))
}

# test_sanitized PRESET TARGET OPTION…: the same of a build with sanitizers, with one
# process for each suite
test_sanitized() {
  local preset=$1 start=$SECONDS built code=0
  build "$preset" "$2"
  built=$SECONDS
  "${launcher[@]}" python3 "$root/tests/house/run_suites.py" "$build/$preset" \
    "$results/$preset.xml" "$jobs" -L '^unit$' "${@:3}" || code=$?
  # With options, that nothing is selected is no failure of this part.
  if (( code && ! (code == 77 && ${#options[@]}) )); then failed+=("$preset"); fi
  printf '%s: built in %d s, tested in %d s\n' "$preset" $(( built - start )) \
    $(( SECONDS - built ))
}

# test_asan TARGET OPTION…
test_asan() {
  local ASAN_OPTIONS=$lines${ASAN_OPTIONS:+:$ASAN_OPTIONS}
  local UBSAN_OPTIONS=print_stacktrace=1:$lines${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
  export ASAN_OPTIONS UBSAN_OPTIONS
  test_sanitized dev "$@"
}

# test_tsan TARGET OPTION…
test_tsan() {
  # TSan requires non-randomized addresses and cannot observe OpenMP's threads.
  local own=$lines:suppressions=$root/tests/house/tsan.supp
  local TSAN_OPTIONS=$own${TSAN_OPTIONS:+:$TSAN_OPTIONS} OMP_NUM_THREADS=1
  local launcher=("${launcher[@]}")
  export TSAN_OPTIONS OMP_NUM_THREADS
  if setarch -R true 2> /dev/null; then launcher=(setarch -R); fi
  test_sanitized tsan "$@"
}

# judge_opened_files: whether packages.txt lists what the compilers and tests opened
judge_opened_files() {
  local code=0
  {
    python3 "$opened_files" headers "$build/release" > "$results/headers.txt" &&
      python3 "$opened_files" judge "$results"/{opened,headers}.txt \
        "$root/packages.txt" --output-junit "$results/opened_files.xml"
  } || code=$?
  if (( code && code != 77 )); then failed+=(opened_files); fi
}

# test_script NAME COMMAND…: a part that is one program; its result counts as a test,
# and exit code 77 as a skipped one
test_script() {
  local name=$1 code=0 status=run skipped=''
  "${@:2}" || code=$?
  case $code in
    0) ;;
    77) status=notrun skipped='<skipped message="SKIP_RETURN_CODE"/>' ;;
    *) status=fail failed+=("$name") ;;
  esac
  printf "<testsuite><testcase name='%s' status='%s'>%s</testcase></testsuite>\n" \
    "$name" "$status" "$skipped" > "$results/$name.xml"
}

# test_labels PRESET LABELS TARGET…: builds these, and runs the tests with such labels
test_labels() {
  local preset=$1 labels=$2 start=$SECONDS selection=()
  shift 2
  if [[ ! $labels ]]; then return; fi
  # Without targets, CMake may still have to find new tests.
  build "$preset" "${@:-build.ninja}"
  say "built in $(( SECONDS - start )) s: ${*:-nothing}"
  if [[ $left_out ]]; then selection=(-LE "$left_out"); fi
  ctest --test-dir "$build/$preset" --output-on-failure --no-tests=error \
    --parallel "$jobs" --output-junit "$results/$preset.xml" -L "$labels" \
    "${selection[@]}" "${options[@]}" || failed+=("$preset")
}

# test_paths PATH…|--changed: builds and runs the tests of these files
test_paths() {
  local found targets alone with_program left_out
  found=$(python3 "$root/tests/house/tests_of.py" "$@") || exit 1
  {
    read -r -a targets
    read -r alone
    read -r with_program || true  # the last lines may be empty
    read -r left_out || true
  } <<< "$found"
  if [[ $alone == *tests/book/* ]]; then ensure_packages required book; fi
  test_labels inner "$alone" "${targets[@]}"
  test_labels release "$with_program" lockstep
}

test_everything() {  # of `parts`
  local part wanted=(release asan tsan packages bare)
  if (( ${#parts[@]} )); then wanted=("${parts[@]}"); fi
  for part in "${wanted[@]}"; do
    case $part in
      release) build release all; test_release "${options[@]}" ;;
      asan) test_asan all_unit_tests "${options[@]}" ;;
      # Whole nets have the threads of small ones, and take hours; kernels on several
      # threads have OpenMP's.
      tsan) test_tsan all_unit_tests -E '^(Large|Threads/Cpu)' "${options[@]}" ;;
      packages) test_script packages bash "$root/tests/house/packages.bash" ;;
      bare) test_script bare bash "$root/tests/bare/run.bash" "$build/bare" demo test ;;
    esac
  done
}

# say_what_was_left: which tests this run did not include, and how to run them
say_what_was_left() {
  local left='whole nets, every room under sanitizers, packages, a first build'
  case $tier in
    user) echo "Not run: the lessons' wrong solutions, the book, sanitizers" \
      "(./lockstep test --gate); $left (./lockstep test --all)." ;;
    gate) echo "Not run: the other wrong solutions, $left (./lockstep test --all)." ;;
    paths) echo 'Not run: all other tests (./lockstep test).' ;;
    all) if (( ${#parts[@]} )); then echo "Only these parts ran: ${parts[*]}."; fi ;;
  esac
}

refuse() { die "test: $1; fix: see ./lockstep test --help"; }

# check_ctest_options OPTION…: refuses what ctest would ignore without a word
check_ctest_options() {
  local word known=''
  for word; do
    word=${word%%=*}
    case $word in
      --gate | --all | --changed) refuse "$word must come first" ;;
      -LE | --label-exclude) refuse "$word would undo the choice of tests; use -E or -L" ;;
      --?*)
        known=${known:-$(ctest --help)}
        grep -qE -- "(^|[ ,])$word([ =,]|$)" <<< "$known" || refuse "no option $word" ;;
    esac
  done
}

# parse_test_options ARGUMENT…: sets tier, paths, parts and options
parse_test_options() {
  local named=''
  tier=user paths=() parts=() options=()
  if in_ci; then tier=gate; fi
  case ${1:-} in
    -h | --help) usage; exit ;;
    --gate | --all) tier=${1#--} named=$1; shift ;;
    --changed) tier=paths named=$1 paths=("$1"); shift ;;
  esac
  while (( $# )) && [[ $1 != -* ]]; do
    case $named/$1 in
      --all/release | --all/asan | --all/tsan | --all/packages | --all/bare)
        parts+=("$1") ;;
      /*) tier=paths paths+=("$1") ;;
      *) refuse "$named does not take $1" ;;
    esac
    shift
  done
  if [[ ${1:-} == -- ]]; then shift; fi
  options=("$@")
  check_ctest_options "$@"
}

run_tests() {
  local tier paths parts options jobs cores lines failed=() recorder=()
  local opened_files=$root/tests/house/opened_files.py
  local results=$build/test-results
  parse_test_options "$@"
  if [[ ! ${LOCKSTEP_SHARED:-} && -d $root/../shared/data ]]; then
    LOCKSTEP_SHARED=$(readlink -f "$root/../shared")  # real data and foreign traces
    export LOCKSTEP_SHARED
  fi
  # The largest nets need 7 GiB in double.
  cores=$(nproc)
  jobs=$(awk '/^MemAvailable/ {print int($2 / 7340032)}' /proc/meminfo)
  jobs=$(( jobs < 1 ? 1 : jobs > cores ? cores : jobs ))
  if [[ $tier == gate || $tier == all ]]; then
    ensure_packages required window package tests book
  else
    ensure_packages required window package tests
  fi
  if in_ci; then print_versions; fi

  # Processes keep what they free, in huge pages: in some virtual machines page faults
  # take up to half of the time of tests that train.
  export GLIBC_TUNABLES=${GLIBC_TUNABLES:-$memory_is_kept}
  # Sanitizers' reports name functions and lines by addr2line, which a compiler needs.
  lines=external_symbolizer_path=$(command -v addr2line || true)

  rm -rf "$results"
  mkdir -p "$results"
  case $tier in
    paths) test_paths "${paths[@]}" ;;
    user)
      build release all
      test_release -LE '^(gate|all)$' "${options[@]}" ;;
    gate)
      build release all
      recorder=(python3 "$opened_files" record "$results/opened.txt" --)
      test_release -LE '^all$' "${options[@]}"
      judge_opened_files
      test_asan unit_tests -LE '^all$' "${options[@]}"
      test_tsan unit_tests -LE '^all$' "${options[@]}" ;;
    all) test_everything ;;
  esac
  if (( ${#failed[@]} )); then echo "failed under: ${failed[*]}"; fi
  say_what_was_left
  python3 "$root/tests/house/count_tests.py" "$results" && (( ! ${#failed[@]} ))
}
