// Plans of the optimizers' updates: one kernel per 64 parameters.
#pragma once

#include <algorithm>
#include <cmath>

#include "engine/backends/cuda/kernels/many.h"
#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

inline Gradient gradient(const View& view) {
  const bool plain = form_of(view) == Form{};
  return {view.as<float>(), plain ? 0 : Index(view.sizes[1]),
          plain ? 0 : Index(view.sizes[2] * view.sizes[3])};
}

/// Launches a kernel per 64 parameters, with a table of them as its argument; each
/// parameter has `each` tensors, and entry(tensors, size) returns its row of the table.
template <class Machine, class Table, class Entry>
void update_many(const KernelArgs& args, size_t each, Table& table, Entry entry) {
  for (size_t start = 0; start < args.in.size(); start += each * kMany) {
    const size_t end = std::min<size_t>(start + each * kMany, args.in.size());
    Index largest = 0;
    table.count = 0;
    for (size_t t = start; t + each <= end; t += each) {
      const auto size = static_cast<Index>(args.in[t].numel());
      table.entry[table.count++] = entry(args.in.subspan(t, each), size);
      largest = std::max(largest, size);
    }
    Machine::for_many(table, largest);
  }
}

template <class Machine>
void update_sgd(const KernelArgs& args) {
  Sgd table{};
  table.lr = static_cast<float>(args.scalars[0]);
  table.momentum = static_cast<float>(args.scalars[1]);
  table.decay = static_cast<float>(args.scalars[2]);
  table.first = args.scalars[3] != 0;
  table.nesterov = args.scalars[4] != 0;
  update_many<Machine>(args, 3, table, [](std::span<const View> in, Index size) {
    return Sgd::Entry{in[0].as<float>(), gradient(in[1]), in[2].as<float>(), size};
  });
}

template <class Machine>
void update_adam(const KernelArgs& args, size_t each) {
  const double *s = args.scalars.data(), step = s[5];
  Adam table{};
  table.step_size = static_cast<float>(s[0] / (1 - std::pow(s[1], step)));
  table.root = static_cast<float>(std::sqrt(1 - std::pow(s[2], step)));
  table.beta1 = static_cast<float>(s[1]);
  table.beta2 = static_cast<float>(s[2]);
  table.rest1 = static_cast<float>(1 - s[1]);
  table.rest2 = static_cast<float>(1 - s[2]);
  table.eps = static_cast<float>(s[3]);
  table.decay = static_cast<float>(s[4]);
  table.first = step == 1;
  table.shrink = static_cast<float>(s[6]);
  update_many<Machine>(args, each, table, [each](auto in, Index size) {
    float* largest = each > 4 ? in[4].template as<float>() : nullptr;
    return Adam::Entry{
        in[0].template as<float>(), gradient(in[1]), in[2].template as<float>(),
        in[3].template as<float>(), largest,         size};
  });
}

template <class Machine>
void update_rmsprop(const KernelArgs& args, size_t each) {
  const double* s = args.scalars.data();
  Rmsprop table{};
  table.lr = static_cast<float>(s[0]);
  table.alpha = static_cast<float>(s[1]);
  table.rest = static_cast<float>(1 - s[1]);
  table.eps = static_cast<float>(s[2]);
  table.decay = static_cast<float>(s[3]);
  table.momentum = static_cast<float>(s[4]);
  table.first = s[5] != 0;
  const bool centered = s[6] != 0, moves = s[4] > 0;
  update_many<Machine>(args, each, table, [=](auto in, Index size) {
    float* average = centered ? in[3].template as<float>() : nullptr;
    float* buffer = moves ? in[each - 1].template as<float>() : nullptr;
    return Rmsprop::Entry{in[0].template as<float>(),
                          gradient(in[1]),
                          in[2].template as<float>(),
                          average,
                          buffer,
                          size};
  });
}

template <class Machine>
PlanPtr plan_optimizer(const PlanRequest& r) {
  const auto each = static_cast<size_t>(r.attributes.k);
  Steps steps(std::string("lockstep:") + name(r.code));
  if (r.code == OpCode::sgd) {
    steps.add([](const KernelArgs& args) { update_sgd<Machine>(args); });
  } else if (r.code == OpCode::adam) {
    steps.add([each](const KernelArgs& args) { update_adam<Machine>(args, each); });
  } else {
    steps.add([each](const KernelArgs& args) { update_rmsprop<Machine>(args, each); });
  }
  return steps.finish(r);
}

}  // namespace lockstep::cuda
