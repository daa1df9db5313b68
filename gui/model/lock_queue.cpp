#include "gui/model/lock_queue.h"

#include <algorithm>
#include <map>
#include <optional>

#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

bool keeps_it_for_the_step(const Model& model) {
  for (const Step& step : model.steps) {
    const uint32_t event = step.event_of(0);
    if (event == kNoEvent) continue;
    return string_arg(args_of(model, model.events[event]), keys::lock) == "step";
  }
  return false;
}

/// The uses of one worker, from its host's events in time order.
class Uses {
 public:
  Uses(const Model& model, int rank, bool whole_step, std::vector<LockUse>& all)
      : model_(model), rank_(rank), whole_step_(whole_step), all_(all) {}

  void take(uint32_t index) {
    const Event& event = model_.events[index];
    const std::string& name = model_.name_of(event);
    if (event.what() == Kind::sync && name == kWaitForLock) {
      wait_ = index;
      return;
    }
    const bool reads = name == names::read_shared;
    if (!reads && name != names::update_shared) return;
    if (!whole_step_ || reads || !open_) begin(index);
    if (whole_step_ && reads) return;
    open_->released = event.end();
    all_.push_back(*open_);
    open_.reset();
  }

  /// A use whose update was not recorded is known for as long as its read lasted.
  void finish() {
    if (!open_) return;
    open_->released = model_.events[open_->event].end();
    all_.push_back(*open_);
  }

 private:
  void begin(uint32_t index) {
    const int64_t ts = model_.events[index].ts;
    open_ = LockUse{rank_, ts, ts, ts, index, wait_};
    if (wait_ == kNoEvent) return;
    open_->asked = model_.events[wait_].ts;
    open_->got = std::min(ts, model_.events[wait_].end());
    wait_ = kNoEvent;
  }

  const Model& model_;
  const int rank_;
  const bool whole_step_;
  std::vector<LockUse>& all_;
  std::optional<LockUse> open_;
  uint32_t wait_ = kNoEvent;
};

}  // namespace

std::vector<LockUse> lock_uses(const Model& model) {
  std::vector<LockUse> all;
  if (model.meta_text(top::mode) != "locked") return all;
  const bool whole_step = keeps_it_for_the_step(model);
  std::map<int, Uses> of_rank;
  for (uint32_t index = 0; index < model.events.size(); ++index) {
    const Lane& lane = model.lanes[model.events[index].lane];
    if (!lane.is_host()) continue;
    of_rank.try_emplace(lane.rank, model, lane.rank, whole_step, all)
        .first->second.take(index);
  }
  for (auto& [rank, uses] : of_rank) uses.finish();
  std::ranges::stable_sort(all, {}, &LockUse::got);
  return all;
}

std::vector<LockUse> lock_queue(const std::vector<LockUse>& uses, int64_t ts) {
  std::vector<LockUse> queue;
  for (const LockUse& use : uses) {
    if (use.holds_at(ts) || use.waits_at(ts)) queue.push_back(use);
  }
  std::ranges::stable_sort(queue, [ts](const LockUse& a, const LockUse& b) {
    if (a.holds_at(ts) != b.holds_at(ts)) return a.holds_at(ts);
    return a.asked < b.asked;
  });
  return queue;
}

}  // namespace lockstep::gui
