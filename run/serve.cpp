// A parameter server that is a process: what surrounds sharing::ServerProcess.
#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/plan/key_ranges.h"
#include "engine/sharing/server_process.h"
#include "engine/sharing/server_state.h"
#include "run/recording.h"
#include "run/resume.h"
#include "run/sharing.h"
#include "run/train.h"

namespace lockstep::run {
namespace {

/// Joins the parameters of a model that is in host memory.
Tensor joined(const sharing::Parameters& parameters) {
  int64_t numel = 0;
  for (const auto& [name, value] : parameters) numel += value.numel();
  const Tensor flat = Tensor::empty({numel}, kHost, parameters[0].value.dtype());
  int64_t at = 0;
  for (const auto& [name, value] : parameters) {
    const Tensor into = flat.narrowed(at, value.numel());
    std::memcpy(into.view().data, value.view().data, value.nbytes());
    at += value.numel();
  }
  return flat;
}

/// The recording of a server: it has no steps, but its workers do. A step begins with
/// the first request of a worker that is in it.
class StepsOfWorkers {
 public:
  StepsOfWorkers(const RunConfig& c, train::Trainer& trainer, const DataSets& data,
                 const RankPlace& place, Device device)
      : trainer_(trainer),
        recording_(c, trainer, data, {device}, place, planned_steps(c, data, place)) {}

  /// After the requests of a step, and those of steps without any, such as evaluations.
  void go_to(int64_t step) {
    for (; step_ < step; ++step_) {
      if (step_ >= 0) end();
      if (trainer_.before_step) trainer_.before_step(step_ + 1);
    }
  }
  void finish() {
    if (step_ >= 0) end();
    recording_.finish();
  }
  void rescue(const std::string& error) { recording_.rescue(error); }

 private:
  void end() {
    train::StepResult result;
    result.step = step_;
    result.batch = 1;  // it was not skipped
    if (trainer_.after_step) trainer_.after_step(result);
  }

  train::Trainer& trainer_;
  Recording recording_;
  int64_t step_ = -1;
};

int own_signal() {
  return train::Trainer::stop ? train::Trainer::stop_signal.load() : 0;
}

}  // namespace

int serve(const RunConfig& c, const DataSets& data, const RankPlace& place,
          const sharing::RequireAll& require_all,
          const std::function<void()>& all_left) {
  const Device device{c.device.type, place.rank};
  const int index = place.rank - place.world;
  // The model stays in host memory: the server begins with what the workers have, too.
  train::TrainerOptions options;
  options.devices = {kHost};
  options.optimizer = optimizer_options(c.recipe);
  options.norm_weight_decay = c.recipe.norm_weight_decay;
  options.bias_weight_decay = c.recipe.bias_weight_decay;
  train::Trainer trainer(make_model(c, data, place), options);
  resume(c, trainer, place);
  sharing::ParameterServer server(index, device, place.world, ps_options(c));
  const sharing::Parameters parameters = trainer.model()->named_parameters();
  const Tensor flat = joined(parameters);
  sharing::require_enough_keys(flat.numel(), place.server_processes);
  const auto range = plan::key_ranges(flat.numel(), place.server_processes)[index];
  server.begin(parameters, range, flat.narrowed(range.begin, range.size()),
               trainer.options().optimizer, trainer.optimizer().state());
  StepsOfWorkers steps(c, trainer, data, place, device);
  sharing::ServerProcess process(
      server, {place.store, index, place.server_processes, require_all}, place.links,
      place.world);
  process.before = [&](int64_t step) { steps.go_to(step); };
  process.signal = own_signal;
  process.all_left = all_left;
  process.patience = Milliseconds(static_cast<int64_t>(c.distributed.timeout * 1000));
  int signal = 0;
  try {
    signal = process.run();
  } catch (const std::exception& error) {
    steps.rescue(error.what());
    throw;
  }
  steps.finish();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace lockstep::run
