// MPI in this process: started once, ended when the process exits.
#pragma once

#include <mpi.h>

#include <string>

namespace lockstep::distributed {

/// Starts MPI on first use and returns a communicator of all processes, separate from
/// MPI_COMM_WORLD, whose errors are returned instead of ending the job. Must be called
/// by all processes equally often. Throws std::runtime_error if this MPI does not allow
/// calls from any thread.
MPI_Comm new_mpi_communicator();

/// Keeps the process from waiting for the others in MPI_Finalize when it exits.
void leave_mpi_unfinished();

/// Returns MPI's own words for an error.
std::string mpi_words(int code);

/// Throws std::runtime_error with them if `code` is an error of the call `name`.
void check_mpi(int code, const char* name);

}  // namespace lockstep::distributed
