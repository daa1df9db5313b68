# Before project(): sanitized builds use clang, where it is installed. It builds them in
# half of GCC's time, its programs start in half, and a second compiler sees the code.
# -DCMAKE_CXX_COMPILER and the variable CXX choose another.
if(NOT LOCKSTEP_SANITIZE OR CMAKE_CXX_COMPILER OR DEFINED ENV{CXX})
  return()
endif()
find_program(LOCKSTEP_CLANG clang++-19)
if(NOT LOCKSTEP_CLANG)
  return()
endif()
foreach(library libclang_rt.asan-x86_64.a libomp.so)  # in packages of their own
  execute_process(COMMAND ${LOCKSTEP_CLANG} -print-file-name=${library}
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${found}")
    return()
  endif()
endforeach()
set(CMAKE_CXX_COMPILER ${LOCKSTEP_CLANG})
