#include "run/process_hooks.h"

#include <functional>
#include <utility>

#include "run/recording.h"
#include "run/sharing.h"

namespace lockstep::run {

RecordingHooks process_hooks(const RunConfig& c, const DataSets& data,
                             const RankPlace& place) {
  RecordingHooks hooks;
  const auto shared = place.shared;
  if (!shared) return hooks;
  const bool traces = !c.output.trace.empty();
  const auto [first, last] =
      traces ? Recording::traced_steps(c.output, planned_steps(c, data, place))
             : std::pair<int64_t, int64_t>(-1, -1);
  hooks.ended = [shared] { shared->agree(true); };
  hooks.around = [shared, first, last](train::Trainer& trainer) {
    trainer.before_step = [=, hook = trainer.before_step](int64_t step) {
      std::atomic<bool>& stop = train::Trainer::stop;
      const int mine = stop ? train::Trainer::stop_signal.load() : 0;
      const int signal = shared->told_to_stop(mine);
      if (signal != 0 && mine == 0) train::Trainer::stop_signal = signal;
      if (signal != 0) stop = true;
      if (step == first && !shared->pass_gate(stop)) return;
      if (step >= first && hook) hook(step);
    };
    trainer.after_step = [=,
                          hook = trainer.after_step](const train::StepResult& result) {
      const bool ends = result.step + 1 == last;
      if (ends && !shared->pass_gate(train::Trainer::stop)) return;
      if (hook) hook(result);
    };
  };
  return hooks;
}

RecordingHooks process_hooks(const RunConfig& c, const DataSets& data,
                             const RankPlace& place,
                             const std::shared_ptr<sharing::RemoteServers>& servers) {
  const bool meets = !c.output.trace.empty() && !steps_together(c);
  const auto [first, last] =
      meets ? Recording::traced_steps(c.output, planned_steps(c, data, place))
            : std::pair<int64_t, int64_t>(-1, -1);
  RecordingHooks hooks;
  hooks.ended = [servers] { servers->wait_until_all_left(); };
  hooks.around = [servers, first, last, rank = place.rank](train::Trainer& trainer) {
    const auto gated = [servers, rank](const std::function<void()>& hook) {
      servers->pause(rank);
      servers->meet(false);
      hook();
      servers->meet(false);
      servers->resume(rank);
    };
    trainer.before_step = [=, hook = trainer.before_step](int64_t step) {
      std::atomic<bool>& stop = train::Trainer::stop;
      const int mine = stop ? train::Trainer::stop_signal.load() : 0;
      const int signal = servers->told_to_stop(mine);
      if (signal != 0 && mine == 0) train::Trainer::stop_signal = signal;
      if (signal != 0) stop = true;
      const auto begin = [&] {
        if (hook) hook(step);
      };
      step == first ? gated(begin) : begin();
    };
    trainer.after_step = [=,
                          hook = trainer.after_step](const train::StepResult& result) {
      const auto end = [&] {
        if (hook) hook(result);
      };
      result.step + 1 == last ? gated(end) : end();
    };
  };
  return hooks;
}

}  // namespace lockstep::run
