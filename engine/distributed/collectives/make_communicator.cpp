#include "engine/distributed/collectives/make_communicator.h"

#include <stdexcept>

#include "engine/backends/load_cuda.h"
#include "engine/distributed/collectives/mpi/load_mpi.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/distributed/collectives/staged_communicator.h"
#include "engine/distributed/collectives/tcp_transport.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

#ifdef LOCKSTEP_HAS_GLOO
std::unique_ptr<Communicator> make_gloo(const CommunicatorOptions&);
bool has_gloo() { return true; }
#else
bool has_gloo() { return false; }
#endif

std::unique_ptr<Communicator> try_nccl(const CommunicatorOptions& options) {
  if (options.device.type != DeviceType::cuda) return nullptr;
  const CudaModule& cuda = cuda_module();
  return cuda.make_nccl ? cuda.make_nccl(options) : nullptr;
}

std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options) {
  const std::string& backend = options.backend;
  if (backend == "nccl") {
    if (auto nccl = try_nccl(options)) return nccl;
  }
  if (backend == "gloo") {
#ifdef LOCKSTEP_HAS_GLOO
    return reach_device(make_gloo(options), options.device);
#else
    throw std::runtime_error(
        "this build has no Gloo; fix: use --dist-backend ring, or install libgloo-dev "
        "and rebuild");
#endif
  }
  if (backend == "mpi") return reach_device(make_mpi(options), options.device);
  if (backend != "ring" && backend != "nccl") {
    throw std::runtime_error("unknown backend '" + backend +
                             "'; fix: use ring, gloo, mpi or nccl");
  }
  auto store = std::make_shared<PrefixStore>("ring", options.store);
  auto transport = std::make_unique<TcpTransport>(store, options.address, options.rank,
                                                  options.size, options.timeout);
  return reach_device(std::make_unique<Ring>(std::move(transport), options.rank,
                                             options.size, options.group),
                      options.device);
}

}  // namespace lockstep::distributed
