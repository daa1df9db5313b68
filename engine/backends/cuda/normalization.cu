// GPU instantiations of batch norm and pooling.
#include "engine/backends/cuda/gpu_launch.h"
#include "engine/backends/cuda/plans/normalization.h"
#include "engine/backends/cuda/plans/pooling.h"

namespace lockstep::cuda {

template PlanPtr plan_normalization<Gpu>(const PlanRequest&);
template PlanPtr plan_pooling<Gpu>(const PlanRequest&);

}  // namespace lockstep::cuda
