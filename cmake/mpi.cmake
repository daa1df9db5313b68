# MPI, for `--dist-backend mpi`: a separate shared library, liblockstep_mpi.so, that the
# engine loads on first use, so that other runs do not start MPI. Without it the program
# still builds, and `ring` remains.
set(LOCKSTEP_HAS_MPI FALSE)
set(MPI_CXX_SKIP_MPICXX TRUE)  # MPI's C interface; its C++ one was removed in MPI 3
if(NOT LOCKSTEP_SANITIZE)      # Open MPI leaks memory, and its threads confuse TSan
  find_package(MPI 3.1 QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(LOCKSTEP_HAS_MPI TRUE)
  else()
    message(STATUS "MPI not found: --dist-backend mpi is disabled, ring remains. "
                   "Fix: apt-get install libopenmpi-dev openmpi-bin")
  endif()
endif()

function(add_mpi_library)
  add_library(lockstep_mpi SHARED
    engine/distributed/collectives/mpi/mpi_communicator.cpp
    engine/distributed/collectives/mpi/mpi_process.cpp)
  target_link_libraries(lockstep_mpi PRIVATE lockstep_engine MPI::MPI_CXX)
endfunction()
