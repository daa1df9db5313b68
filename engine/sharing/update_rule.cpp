#include "engine/sharing/update_rule.h"

#include <algorithm>

namespace lockstep::sharing {

UpdateRule::UpdateRule(int workers, const PsOptions& options)
    : options_(options), workers_(workers) {}

bool UpdateRule::may_pull(int worker) const {
  const Worker& me = workers_[worker];
  switch (options_.consistency) {
    case Consistency::sync:
      return !me.pushed || finished_version_ > me.read;
    case Consistency::async:
      return true;
    case Consistency::ssp:
      return me.clock - slowest() <= options_.staleness;
  }
  return true;
}

std::vector<int> UpdateRule::awaited_by(int worker) const {
  std::vector<int> awaited;
  for (int other = 0; other < static_cast<int>(workers_.size()); ++other) {
    const Worker& they = workers_[other];
    if (they.left || other == worker) continue;
    const bool late = is_sync()
                          ? !waiting_.contains(other)
                          : workers_[worker].clock - they.clock > options_.staleness;
    if (late) awaited.push_back(other);
  }
  return awaited;
}

int64_t UpdateRule::pull(int worker) {
  workers_[worker].pushed = false;
  return workers_[worker].read = version_;
}

UpdateRule::Push UpdateRule::push(int worker) {
  Worker& me = workers_[worker];
  Push push;
  push.read_version = me.read;
  me.pushed = true;
  if (!is_sync()) {
    push.applied = {worker};
    push.version = ++version_;
    return push;
  }
  push.discarded = me.read != version_;
  if (!push.discarded) {
    waiting_.insert(worker);
    if (is_due()) push.applied = make_due().applied;
  }
  push.version = version_;
  return push;
}

void UpdateRule::finish(int worker, const Push& push) {
  ++workers_[worker].clock;
  publish(push);
}

void UpdateRule::publish(const Push& push) {
  if (push.applied.empty()) return;
  finished_version_ = std::max(finished_version_, push.version);
}

UpdateRule::Push UpdateRule::make_due() {
  Push push;
  push.read_version = version_;
  push.applied.assign(waiting_.begin(), waiting_.end());
  waiting_.clear();
  push.version = ++version_;
  return push;
}

int64_t UpdateRule::slowest() const {
  int64_t clock = INT64_MAX;
  for (const Worker& worker : workers_) {
    if (!worker.left) clock = std::min(clock, worker.clock);
  }
  return clock;
}

/// Returns the number of gradients that make an update.
size_t UpdateRule::required() const {
  const auto active = std::count_if(workers_.begin(), workers_.end(),
                                    [](const Worker& worker) { return !worker.left; });
  const auto wanted = static_cast<int64_t>(workers_.size()) - options_.backup;
  return static_cast<size_t>(std::max<int64_t>(1, std::min<int64_t>(wanted, active)));
}

}  // namespace lockstep::sharing
