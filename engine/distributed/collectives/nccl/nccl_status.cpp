#include "engine/distributed/collectives/nccl/nccl_status.h"

#include <stdexcept>

namespace lockstep::distributed {

void check_nccl(ncclResult_t status, const std::string& call, ncclComm_t comm) {
  if (status == ncclSuccess) return;
  const char* last = ncclGetLastError(comm);
  throw std::runtime_error(call + ": " + ncclGetErrorString(status) +
                           (last && *last ? std::string(", ") + last : "") +
                           " (set NCCL_DEBUG=INFO for details)");
}

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::i64:
      return ncclInt64;
    default:
      return ncclUint8;
  }
}

}  // namespace lockstep::distributed
