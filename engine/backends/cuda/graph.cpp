#include "engine/backends/cuda/graph.h"

#include "engine/backends/cuda/status.h"

namespace lockstep::cuda {

CudaGraph::CudaGraph(cudaGraph_t captured) {
  const cudaError_t status = cudaGraphInstantiate(&executable_, captured, 0);
  cudaGraphDestroy(captured);
  check(status, "cudaGraphInstantiate");
}

CudaGraph::~CudaGraph() { cudaGraphExecDestroy(executable_); }

}  // namespace lockstep::cuda
