# Compiler options for every target.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(LOCKSTEP_SANITIZE "" CACHE STRING "address,undefined or thread")

# For C++ only: nvcc has separate options (cmake/cuda.cmake).
function(add_cxx_options)
  foreach(option IN LISTS ARGN)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endfunction()
add_cxx_options(-Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 gives false warnings about std::string's operator+ (bug 105651) and about
  # anonymous namespaces in unity builds, which it attributes to a header.
  add_cxx_options(-Wno-restrict -Wno-subobject-linkage)
endif()
# Paths in messages and traces are relative to the repository's root.
add_cxx_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# One binary for every x86-64-v3 machine: wider vectors come from the libraries'
# own dispatch. -O3 because the reference backend's plain loops must vectorise.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_cxx_options(-march=x86-64-v3)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG -g1")
# The preset `inner`, for people who edit: each file compiles alone, and quickly.
option(LOCKSTEP_INNER "compile for a quick build; a program for each file of tests" OFF)
if(LOCKSTEP_INNER)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG -g1")
endif()

if(LOCKSTEP_SANITIZE)
  # Sanitizer findings abort: otherwise a test with undefined behaviour would pass.
  string(REPLACE "," "$<COMMA>" kinds "${LOCKSTEP_SANITIZE}")
  add_cxx_options(-fsanitize=${kinds} -fno-sanitize-recover=all
                  -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # GCC defines it
    string(REGEX REPLACE ",.*" "" kind "${LOCKSTEP_SANITIZE}")
    string(TOUPPER ${kind} kind)
    add_cxx_options(-D__SANITIZE_${kind}__)
    # Clang would move variables of frames to the heap, to find uses after return: a
    # tenth to a third of the tests' time. GCC does not do it by default either.
    if(kind STREQUAL "ADDRESS")
      add_cxx_options(-fsanitize-address-use-after-return=never)
    endif()
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  if(LOCKSTEP_INNER)  # as ccache's manual demands for precompiled headers
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
endif()
find_program(MOLD mold)
if(MOLD)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold LOCKSTEP_CAN_USE_MOLD)  # g++ can since 12.1
  if(LOCKSTEP_CAN_USE_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

# A unity build parses the same headers once for each batch of files, which for eight
# files is half of the work. Where many cores share it, that is quicker all the same; on
# few cores two to four batches are. They consist of whole small ones, so that what
# compiles here compiles there: names collide within a batch.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
function(compile_in_batches target)
  if(cores LESS 4)
    get_target_property(sources ${target} SOURCES)
    list(LENGTH sources count)
    math(EXPR times "(${count} + 31) / 32")
    if(times LESS 2)
      set(times 2)
    endif()
    math(EXPR batch "${CMAKE_UNITY_BUILD_BATCH_SIZE} * ${times}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()
