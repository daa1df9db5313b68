# `./lockstep test`: sourced by ../../lockstep, whose functions it uses.
#
#   --quick      omits the slow tests and the sanitizers
#   --sanitize   also runs under ASan + UBSan and under TSan; with CI=true this is the
#                default, unless --quick is given
# All other options are passed to ctest, in each preset; under the sanitizers, only those
# that select tests have an effect.
# shellcheck shell=bash disable=SC2154  # root, build and launcher are the wrapper's

# The slow tests, and the rooms that run under ASan and UBSan. The TSan build contains
# only suites about threads (../CMakeLists.txt).
slow_tests='Golden.*(resnet|vgg)'
# Nets of full size and long series: under ASan they take minutes, and call what small
# nets call.
large_nets="$slow_tests|Golden.*alexnet|ConvolutionsOf(ResNet|Vgg)|InitialValuesOf"
large_nets+='|SimpleWalkOfNets|PartsOfEveryModel|ScoreboardGolden|AutoSplit.TrainsLike'
asan_rooms='^(base|plan|tracer|engine|gui)$'
memory_is_kept=glibc.malloc.hugetlb=1
memory_is_kept+=:glibc.malloc.trim_threshold=1073741824
memory_is_kept+=:glibc.malloc.mmap_threshold=1073741824

usage() {
  echo 'usage: ./lockstep test [--quick] [--sanitize] [options of ctest]'
  sed -n '3,7s/^# //p' "$root/tests/house/run_tests.bash"
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

# test_preset PRESET TARGET OPTION…: builds TARGET, then runs the tests that ctest selects
# by the options
test_preset() {
  local preset=$1 start=$SECONDS built progress=()
  build "$preset" "$2"
  built=$SECONDS
  if [[ -t 1 ]]; then progress=(--progress); fi
  if [[ $preset == release ]]; then
    ctest --test-dir "$build/$preset" --output-on-failure --no-tests=error \
      --parallel "$jobs" --output-junit "$results/$preset.xml" "${progress[@]}" \
      "${@:3}" || failed+=("$preset")
  else
    "${launcher[@]}" python3 "$root/tests/house/run_suites.py" "$build/$preset" \
      "$results/$preset.xml" "$jobs" "${@:3}" || failed+=("$preset")
  fi
  printf '%s: built in %d s, tested in %d s\n' "$preset" $(( built - start )) \
    $(( SECONDS - built ))
}

run_tests() {
  local arg quick='' sanitize='' options=() jobs cores failed=()
  local results=$build/test-results
  for arg; do
    case $arg in
      --quick) quick=1 ;;
      --sanitize) sanitize=1 ;;
      -h | --help) usage; return ;;
      *) options+=("$arg") ;;
    esac
  done
  if in_ci && [[ ! $quick ]]; then sanitize=1; fi
  if [[ ! ${LOCKSTEP_SHARED:-} && -d $root/../shared/data ]]; then
    LOCKSTEP_SHARED=$(readlink -f "$root/../shared")  # real data and foreign traces
    export LOCKSTEP_SHARED
  fi
  # The largest nets need 7 GiB in double.
  cores=$(nproc)
  jobs=$(awk '/^MemAvailable/ {print int($2 / 7340032)}' /proc/meminfo)
  jobs=$(( jobs < 1 ? 1 : jobs > cores ? cores : jobs ))
  if in_ci; then  # the book's tests must not be skipped in CI
    ensure_packages required window package tests book
  else
    ensure_packages required window package tests
  fi
  if in_ci; then print_versions; fi

  # Processes keep what they free, in huge pages: in some virtual machines page faults
  # take up to half of the time of tests that train.
  export GLIBC_TUNABLES=${GLIBC_TUNABLES:-$memory_is_kept}

  rm -rf "$results"
  mkdir -p "$results"
  test_preset release all ${quick:+-E "$slow_tests"} "${options[@]}"
  if [[ $sanitize ]]; then
    # Reports name functions and lines by addr2line, which a compiler depends on.
    local lines
    lines=external_symbolizer_path=$(command -v addr2line || true)
    export ASAN_OPTIONS=$lines${ASAN_OPTIONS:+:$ASAN_OPTIONS}
    export TSAN_OPTIONS=$lines${TSAN_OPTIONS:+:$TSAN_OPTIONS}
    export UBSAN_OPTIONS=print_stacktrace=1:$lines${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
    test_preset dev unit_tests -L "$asan_rooms" -E "$large_nets" "${options[@]}"
    # TSan requires non-randomized addresses and cannot observe OpenMP's threads.
    if setarch -R true 2> /dev/null; then launcher=(setarch -R); fi
    export OMP_NUM_THREADS=1
    test_preset tsan unit_tests -L "$asan_rooms" -E "$slow_tests" "${options[@]}"
  fi
  if (( ${#failed[@]} )); then echo "failed under: ${failed[*]}"; fi
  python3 "$root/tests/house/count_tests.py" "$results" && (( ! ${#failed[@]} ))
}
