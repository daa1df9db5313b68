// GPU instantiations of elementwise operations, cross entropy and optimizers.
#include "engine/backends/cuda/gpu_launch.h"
#include "engine/backends/cuda/plans/elementwise.h"
#include "engine/backends/cuda/plans/loss.h"
#include "engine/backends/cuda/plans/optimizers.h"

namespace lockstep::cuda {

template Step turn_step<Gpu>(Ref, Ref, int64_t, int64_t, int64_t);
template void reduce_elements<Gpu>(void*, const void*, int64_t, DType, ReduceOp);
template PlanPtr plan_elementwise<Gpu>(const PlanRequest&);
template PlanPtr plan_loss<Gpu>(const PlanRequest&);
template PlanPtr plan_optimizer<Gpu>(const PlanRequest&);

}  // namespace lockstep::cuda
