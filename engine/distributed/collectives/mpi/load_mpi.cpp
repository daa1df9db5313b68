#include "engine/distributed/collectives/mpi/load_mpi.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "engine/backends/engine_folder.h"

namespace lockstep::distributed {

#ifdef LOCKSTEP_HAS_MPI
namespace {

/// Its symbols are global: Open MPI's own plug-ins look for libmpi's there.
MakeMpi* load() {
  const std::string path = engine_folder() + "/liblockstep_mpi.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // never closed
  void* function = library ? dlsym(library, kMpiSymbol) : nullptr;
  if (function == nullptr) {
    throw std::runtime_error("MPI cannot be loaded: " + std::string(dlerror()) +
                             "; fix: use --dist-backend ring, or build lockstep where "
                             "libopenmpi-dev is installed");
  }
  return reinterpret_cast<MakeMpi*>(function);
}

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Communicator> make_mpi(const CommunicatorOptions& options) {
  static MakeMpi* const make = load();
  return std::unique_ptr<Communicator>(make(options));
}
#else
bool has_mpi() { return false; }

std::unique_ptr<Communicator> make_mpi(const CommunicatorOptions&) {
  throw std::runtime_error(
      "this build has no MPI; fix: use --dist-backend ring, or install libopenmpi-dev "
      "and rebuild");
}
#endif

}  // namespace lockstep::distributed
