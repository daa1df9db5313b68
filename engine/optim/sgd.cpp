#include "engine/optim/sgd.h"

#include <utility>

#include "engine/ops/op_call.h"

namespace lockstep::optim {

Sgd::Sgd(std::vector<nn::Named<Tensor>> parameters, SgdOptions o)
    : Optimizer(std::move(parameters), {"momentum_buffer"}, o.lr, o.momentum,
                o.weight_decay, std::move(o.weight_decay_of)),
      nesterov_(o.nesterov) {}

void Sgd::update(const Group& group, std::source_location site) {
  ops::OpCall op("aten::_fused_sgd_", group.updated, site);
  const double first = group.step == 1, nesterov = nesterov_;
  ops::compute_into(OpCode::sgd, group.tensors, group.updated, {},
                    {lr(), momentum(), group.weight_decay, first, nesterov});
}

}  // namespace lockstep::optim
