// NCCL's error codes and types.
#pragma once

#include <nccl.h>

#include <string>

#include "engine/tensor/dtype.h"

namespace lockstep::distributed {

/// Throws std::runtime_error that names the call and the group's last error.
void check_nccl(ncclResult_t status, const std::string& call,
                ncclComm_t comm = nullptr);

/// Returns the type for bytes where NCCL has no such type.
ncclDataType_t nccl_type(DType type);

}  // namespace lockstep::distributed
