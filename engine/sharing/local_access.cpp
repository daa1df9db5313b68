#include "engine/sharing/local_access.h"

#include "tracer/format/keys.h"

namespace lockstep::sharing {

void make_local_step(LocalAccess& rank, const LocalSgdOptions& options, int64_t step) {
  rank.optimizer_step();
  const int64_t since = step - options.warmup_steps;
  if (since >= 0 && since % options.period == 0) rank.average();
}

void average_with_others(const LocalState& state, distributed::Bucket& flat,
                         distributed::ProcessGroup& group) {
  const distributed::Parameters& parameters = state.parameters;
  const double share = 1.0 / group.size();
  for (size_t i = 0; i < parameters.size(); ++i) {
    flat.pack(i, parameters[i].value, share);
  }
  distributed::CollectiveLabel label;
  label.why = tracer::reasons::average;
  label.tensor = "parameters";
  group.all_reduce(flat.flat(), ReduceOp::sum, label).wait();
  for (size_t i = 0; i < parameters.size(); ++i) {
    flat.unpack(i, parameters[i].value);
  }
}

runtime::Slot<decltype(make_local_step)>& local_step() {
  static runtime::Slot<decltype(make_local_step)> in_use("local_step", make_local_step);
  return in_use;
}

runtime::Slot<decltype(average_with_others)>& local_average() {
  static runtime::Slot<decltype(average_with_others)> in_use("local_average",
                                                             average_with_others);
  return in_use;
}

}  // namespace lockstep::sharing
