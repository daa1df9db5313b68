#include "engine/sharing/update_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace lockstep::sharing {

UpdateRule::UpdateRule(int workers, const PsOptions& options)
    : options_(options), workers_(workers) {}

bool UpdateRule::may_pull(int worker) const {
  return !awaits_an_update(worker) && server_may_pull()(*this, options_, worker);
}

/// Returns whether an update that has used the worker's gradient, or has discarded it,
/// is still being made.
bool UpdateRule::awaits_an_update(int worker) const {
  const Worker& me = workers_[worker];
  return me.pushed && !waiting_.contains(worker) && finished_version_ <= me.read;
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
  me.pushed = true;
  push_ = {.read_version = me.read};
  waiting_.insert(worker);
  server_push()(*this, options_, worker);
  push_.version = version_;
  return push_;
}

void UpdateRule::update(std::set<int> workers, double scale) {
  if (!push_.applied.empty()) {
    throw std::logic_error("a push has made two updates; fix: make one at most");
  }
  if (workers.empty()) {
    throw std::logic_error("an update without gradients; fix: name a worker");
  }
  for (const int worker : workers) {
    if (waiting_.erase(worker) == 0) {
      throw std::logic_error(fmt::format(
          "an update with a gradient of worker {} that has not arrived, or has been "
          "used; fix: use those of arrived()",
          worker));
    }
    push_.applied.push_back(worker);
  }
  push_.scale = scale;
  ++version_;
}

void UpdateRule::discard(int worker) {
  waiting_.erase(worker);
  push_.discarded = true;
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
  push.scale = 1.0 / static_cast<double>(waiting_.size());
  waiting_.clear();
  push.version = ++version_;
  return push;
}

std::vector<int> UpdateRule::workers() const {
  std::vector<int> active;
  for (int worker = 0; worker < static_cast<int>(workers_.size()); ++worker) {
    if (!workers_[worker].left) active.push_back(worker);
  }
  return active;
}

size_t UpdateRule::needed() const {
  const auto active = static_cast<int64_t>(workers().size());
  const auto wanted = static_cast<int64_t>(workers_.size()) - options_.backup;
  return static_cast<size_t>(std::max<int64_t>(1, std::min(wanted, active)));
}

}  // namespace lockstep::sharing
