#include "run/process_hooks.h"

#include <functional>
#include <utility>

#include "run/recording.h"
#include "run/sharing.h"

namespace lockstep::run {
namespace {

/// Tells the other workers of a signal to this process, and learns of theirs.
/// `told_to_stop` returns the signal that some process has received.
template <typename ToldToStop>
void stop_together(const ToldToStop& told_to_stop) {
  std::atomic<bool>& stop = train::Trainer::stop;
  const int mine = stop ? train::Trainer::stop_signal.load() : 0;
  const int signal = told_to_stop(mine);
  if (signal != 0 && mine == 0) train::Trainer::stop_signal = signal;
  if (signal != 0) stop = true;
}

}  // namespace

RecordingHooks process_hooks(const RunConfig& c, const DataSets& data,
                             const RankPlace& place) {
  RecordingHooks hooks;
  const auto shared = place.shared;
  if (!shared) return hooks;
  const bool traces = !c.output.trace.empty();
  const auto [first, last] =
      traces ? Recording::traced_steps(c, planned_steps(c, data, place))
             : std::pair<int64_t, int64_t>(-1, -1);
  const auto heed_signals = [shared] {
    stop_together([&](int mine) { return shared->told_to_stop(mine); });
  };
  hooks.ended = [shared, heed_signals] {
    heed_signals();
    shared->agree(true);
  };
  hooks.around = [=](train::Trainer& trainer) {
    trainer.before_step = [=, hook = trainer.before_step](int64_t step) {
      heed_signals();
      if (step == first && !shared->pass_gate(train::Trainer::stop)) return;
      if (step >= first && hook) hook(step);
    };
    trainer.after_step = [=,
                          hook = trainer.after_step](const train::StepResult& result) {
      heed_signals();
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
      meets ? Recording::traced_steps(c, planned_steps(c, data, place))
            : std::pair<int64_t, int64_t>(-1, -1);
  RecordingHooks hooks;
  const auto heed_signals = [servers] {
    stop_together([&](int mine) { return servers->told_to_stop(mine); });
  };
  hooks.ended = [servers, heed_signals] {
    heed_signals();
    servers->wait_until_all_left();
  };
  hooks.around = [=, rank = place.rank](train::Trainer& trainer) {
    const auto gated = [servers, rank](const std::function<void()>& hook) {
      servers->pause(rank);
      servers->meet(false);
      hook();
      servers->resume(rank);
      servers->meet(false);
    };
    trainer.before_step = [=, hook = trainer.before_step](int64_t step) {
      heed_signals();
      const auto begin = [&] {
        if (hook) hook(step);
      };
      if (step == first) {
        gated(begin);
      } else {
        begin();
      }
    };
    trainer.after_step = [=,
                          hook = trainer.after_step](const train::StepResult& result) {
      heed_signals();
      const auto end = [&] {
        if (hook) hook(result);
      };
      if (result.step + 1 == last) {
        gated(end);
      } else {
        end();
      }
    };
  };
  return hooks;
}

}  // namespace lockstep::run
