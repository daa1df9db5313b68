// What NCCL's calls return, and what they call our types.
#pragma once

#include <nccl.h>

#include <string>

#include "engine/tensor/dtype.h"

namespace lockstep::distributed {

/// Throws std::runtime_error that names the call, and what the group said last.
void check_nccl(ncclResult_t status, const std::string& call,
                ncclComm_t comm = nullptr);

/// Bytes where NCCL has no such type.
ncclDataType_t nccl_type(DType type);

}  // namespace lockstep::distributed
