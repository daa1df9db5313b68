# Gloo, Facebook's collectives, for `--dist-backend gloo`. Without it the program still
# builds, and `ring` remains.
find_package(Gloo CONFIG QUIET)
if(TARGET gloo)
  set(LOCKSTEP_HAS_GLOO TRUE)
else()
  set(LOCKSTEP_HAS_GLOO FALSE)
  message(STATUS "Gloo not found: --dist-backend gloo is disabled, ring remains. "
                 "Fix: apt-get install libgloo-dev")
endif()
