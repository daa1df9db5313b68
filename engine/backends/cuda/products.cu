// GPU instantiations of the kernels around the libraries' convolutions and products.
#include "engine/backends/cuda/gpu_launch.h"
#include "engine/backends/cuda/plans/products.h"

namespace lockstep::cuda {

template PlanPtr plan_convolution<Gpu>(const PlanRequest&);
template PlanPtr plan_linear<Gpu>(const PlanRequest&);

}  // namespace lockstep::cuda
