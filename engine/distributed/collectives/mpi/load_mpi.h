// Finds liblockstep_mpi.so, which is loaded only for `--dist-backend mpi`.
#pragma once

#include <memory>

#include "engine/distributed/collectives/make_communicator.h"

namespace lockstep::distributed {

/// The function that liblockstep_mpi.so exports under the name kMpiSymbol.
using MakeMpi = Communicator*(const CommunicatorOptions&);
inline constexpr char kMpiSymbol[] = "lockstep_make_mpi_communicator";

/// Returns whether this build includes MPI.
bool has_mpi();

/// Returns a communicator of all processes that mpirun started. Must be called by all
/// of them. Throws std::runtime_error if this build lacks MPI, if the library does not
/// load, or if MPI's ranks are not `options.rank` of `options.size`.
std::unique_ptr<Communicator> make_mpi(const CommunicatorOptions& options);

}  // namespace lockstep::distributed
