// Error codes and data types of NCCL.
#pragma once

#include <nccl.h>

#include <string>

#include "engine/tensor/types.h"

namespace lockstep::distributed {

/// Throws std::runtime_error naming the call and the last error of `comm` on failure.
void check_nccl(ncclResult_t status, const std::string& call,
                ncclComm_t comm = nullptr);

/// Returns NCCL's type for `type`; the byte type if NCCL has no equivalent.
ncclDataType_t nccl_type(DType type);

}  // namespace lockstep::distributed
