// Checks the status of calls to CUDA's libraries. Errors name the call that failed.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <stdexcept>
#include <string>

namespace lockstep::cuda {

/// Also clears the thread's last error, which a later launch would report as its own.
inline void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(what + ": " + cudaGetErrorString(status) + " (" +
                           cudaGetErrorName(status) + ")");
}

inline void check(cudnnStatus_t status, const std::string& what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char last[256] = "";
  cudnnGetLastErrorString(last, sizeof last);
  throw std::runtime_error(what + ": " + cudnnGetErrorString(status) +
                           (*last ? std::string(", ") + last : ""));
}

inline void check(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(what + ": " + cublasGetStatusString(status));
}

}  // namespace lockstep::cuda
