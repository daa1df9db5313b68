#!/usr/bin/env bash
# Replaces dpkg-query, apt-get, sudo, id, cmake, ninja, ctest, cpack and uname in
# wrapper_test.py. Logs each call to $FAKE/calls; files in $FAKE control its behaviour.
me=${0##*/}
if [[ $me != id && $me != dpkg-query ]]; then echo "$me $*" >> "$FAKE/calls"; fi

says() { [[ -e $FAKE/$1 ]]; }  # whether the test has enabled this
once() { says "$1" && rm "$FAKE/$1"; }
after() {  # after OPTION ARG…: the argument after OPTION
  local option=$1
  shift
  while (( $# )); do
    if [[ $1 == "$option" ]]; then echo "$2"; return; fi
    shift
  done
}

case $me in
  id) cat "$FAKE/uid" ;;
  sudo) if [[ $1 == -n ]]; then shift; fi; exec "$@" ;;
  dpkg-query)
    echo asked >> "$FAKE/dpkg_calls"
    for name; do
      if grep -qx -- "$name" "$FAKE/installed"; then printf '<%s installed>' "$name"; fi
    done ;;
  apt-get)
    if [[ " $* " == *" update "* ]]; then exit 0; fi
    if once apt_fails_once; then echo "E: Unable to locate"; exit 100; fi
    if says apt_lacks && [[ " $* " == *" $(cat "$FAKE/apt_lacks") "* ]]; then
      echo "E: Unable to locate package $(cat "$FAKE/apt_lacks")"
      exit 100
    fi
    printf '%s\n' "$@" >> "$FAKE/installed" ;;
  cmake)
    if [[ $1 == --version ]]; then echo "cmake 3"; exit; fi
    if says cmake_fails; then
      printf 'CMake Error at CMakeLists.txt:9 (find_package):\n  fmt is missing\n'
      exit 1
    fi
    if [[ " $* " != *" --preset "* ]]; then exit; fi
    : > "$(after -S "$@")/build/$(after --preset "$@")/build.ninja" ;;
  ninja)
    if [[ $1 == --version ]]; then echo 1; exit; fi
    folder=$(after -C "$@")
    if says ninja_fails; then
      printf '[1/2] Building CXX object a.o\nFAILED: a.o\n/usr/bin/ccache c++ -c\n'
      printf 'a.cpp:7:1: error: expected a semicolon\nninja: build stopped.\n'
      exit 1
    fi
    printf '[0/2] Re-checking globbed directories...\n'
    program=$folder/lockstep
    if [[ $* == *lockstep_core* ]]; then program=$folder/core/lockstep; fi
    mkdir -p "${program%/*}"
    if [[ ! -e $program ]]; then
      for i in 1 2 3 4 5 6 7 8; do echo "[$i/8] Building CXX object $i.o"; done
      # shellcheck disable=SC2016  # for the program
      printf '#!/bin/bash\necho "program $LOCKSTEP_PROGRAM" >> "$FAKE/calls"\n' \
        > "$program"
      # shellcheck disable=SC2016
      printf 'printf "<%%s>" "$PWD" "$@"; exit 3\n' >> "$program"
      chmod +x "$program"
    fi ;;
  cpack)
    if says cpack_fails; then echo "CPack Error: no libdnnl"; exit 1; fi
    packages=$(after --config "$@")
    packages=${packages%/release/*}/packages
    mkdir -p "$packages/_CPack_Packages"
    : > "$packages/lockstep_1_amd64.deb" ;;
  ctest)
    echo "LOCKSTEP_SHARED=${LOCKSTEP_SHARED:-} OMP=${OMP_NUM_THREADS:-}" >> "$FAKE/calls"
    if says ctest_finds_nothing; then exit 8; fi
    if [[ " $* " == *" --show-only=json-v1 "* ]]; then  # for run_suites.py
      # shellcheck disable=SC2016  # for the program
      printf '#!/bin/bash\necho "<a>%s</a>" > "${2#--gtest_output=xml:}"\n' \
        "<testcase classname='A' name='t'/>" > "$FAKE/gtest"
      chmod +x "$FAKE/gtest"
      printf '{"tests":[{"name":"t","command":["%s","--gtest_filter=A.t"],%s}]}' \
        "$FAKE/gtest" '"properties":[]'
      exit
    fi
    status=run
    if says ctest_fails; then status=fail; fi
    echo "<testsuite><testcase name='t' status='$status'/></testsuite>" \
      > "$(after --output-junit "$@")"
    [[ $status == run ]] ;;
esac
