#include "engine/distributed/rendezvous/monitor.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::distributed {
namespace {

std::string key(const char* what, int rank) {
  return std::string(what) + "/" + std::to_string(rank);
}

/// Returns a tenth of the timeout, between 50 ms and 1 s.
Milliseconds interval_for(Milliseconds timeout) {
  return std::clamp(timeout / 10, Milliseconds(50), Milliseconds(1000));
}

constexpr Milliseconds kLastResort{1500};
constexpr const char* kFix = "fix: restart all ranks";

double seconds_since(TimePoint moment) {
  return std::chrono::duration<double>(Clock::now() - moment).count();
}

}  // namespace

Monitor::Monitor(std::shared_ptr<Store> store, ProcessGroup& group,
                 Milliseconds timeout,
                 std::function<void(const std::string&)> last_resort)
    : store_(std::move(store)),
      group_(group),
      interval_(interval_for(timeout)),
      timeout_(timeout),
      last_resort_(std::move(last_resort)),
      seen_(group.size()) {
  for (Seen& rank : seen_) rank.changed = Clock::now();
  thread_ = std::thread([this] { work(); });
}

Monitor::~Monitor() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Monitor::work() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    round_began_ = Clock::now();
    round_over_ = false;
    lock.unlock();
    std::string trouble;
    try {
      exchange_news();
    } catch (const std::exception& error) {
      trouble = error.what();
    }
    lock.lock();
    round_over_ = true;
    store_trouble_ = trouble;
    const std::string blame = trouble.empty() ? gone_or_failed() : trouble;
    if (!blame.empty() && !closing_ && act_on(blame)) {
      lock.unlock();
      last_resort_(blame);
      lock.lock();
    }
    changed_.wait_for(lock, interval_, [this] { return closing_; });
  }
}

/// Writes this rank's heartbeat and latest collective, and reads those of the others.
void Monitor::exchange_news() {
  const auto [seq, at] = group_.last_call();
  store_->set(key("at", group_.rank()), std::to_string(seq) + " " + at);
  store_->add(key("beat", group_.rank()), 1);
  for (int rank = 0; rank < group_.size(); ++rank) {
    const auto beat = store_->try_get(key("beat", rank));
    const auto place = store_->try_get(key("at", rank));
    const bool gone = store_->try_get(gone_key(rank)).has_value();
    const auto failed = store_->try_get(key("failed", rank));
    std::lock_guard lock(mutex_);
    Seen& seen = seen_[rank];
    const int64_t count = beat ? std::atoll(beat->c_str()) : -1;
    if (std::exchange(seen.beat, count) != count) seen.changed = Clock::now();
    if (place) {
      seen.seq = std::atoll(place->c_str());
      seen.at = place->substr(place->find(' ') + 1);
    }
    seen.gone = gone;
    seen.failed = failed.value_or("");
  }
}

/// Aborts the group and returns whether it is time for the last resort. mutex_ must be
/// held by the caller.
bool Monitor::act_on(const std::string& blame) {
  group_.communicator().abort(blame);
  if (blamed_at_ == TimePoint{}) blamed_at_ = Clock::now();
  const bool unnoticed = Clock::now() - blamed_at_ > kLastResort;
  return unnoticed && !explaining_ && last_resort_;
}

/// Prefers to blame a rank whose process has died over one that reports a failure,
/// which is often a consequence of the death. mutex_ must be held.
std::string Monitor::gone_or_failed() const {
  std::string failed;
  for (int rank = 0; rank < group_.size(); ++rank) {
    const Seen& seen = seen_[rank];
    if (rank == group_.rank()) continue;
    if (!seen.failed.empty()) {
      failed = fmt::format("rank {} failed: {}", rank, seen.failed);
    } else if (seen.gone) {
      return fmt::format("rank {} died (it was at {}); {}", rank, seen.at, kFix);
    }
  }
  return failed;
}

/// Returns a message naming a rank whose heartbeat has stopped. mutex_ must be held.
std::string Monitor::silent() const {
  const double limit =
      std::chrono::duration<double>(3 * interval_ + Milliseconds(200)).count();
  for (int rank = 0; rank < group_.size(); ++rank) {
    const double silence = seconds_since(seen_[rank].changed);
    if (rank == group_.rank() || silence < limit) continue;
    if (seen_[rank].beat < 0) {
      return fmt::format(
          "rank {} never joined: no heartbeat for {:.1f} s; was it started, and do all "
          "ranks use the same world size?",
          rank, silence);
    }
    return fmt::format(
        "rank {} hangs or has died: no heartbeat for {:.1f} s (it was at {}); {}", rank,
        silence, seen_[rank].at, kFix);
  }
  return {};
}

/// Returns a message naming a rank that is alive but has not reached the latest
/// collective of the others. mutex_ must be held.
std::string Monitor::behind() const {
  const auto by_seq = [](const Seen& a, const Seen& b) { return a.seq < b.seq; };
  const auto last = std::min_element(seen_.begin(), seen_.end(), by_seq);
  const auto first = std::max_element(seen_.begin(), seen_.end(), by_seq);
  if (last->seq == first->seq) return {};
  return fmt::format(
      "rank {} did not reach {} within {:g} s: it is alive, but still at {}; is it "
      "slow (increase --timeout), or does it run different steps from the others?",
      last - seen_.begin(), first->at, static_cast<double>(timeout_.count()) / 1000,
      last->at);
}

bool Monitor::store_answers() const {
  std::lock_guard lock(mutex_);
  return store_trouble_.empty() &&
         (round_over_ || Clock::now() - round_began_ < 2 * interval_ + kLastResort);
}

std::string Monitor::explain(const std::string& error) {
  {
    std::lock_guard lock(mutex_);
    explaining_ = true;
  }
  const auto says = [&](const char* text) { return error.find(text) != error.npos; };
  const bool broke = says("the connection to") || says("cannot reach rank");
  const bool late = says("did not reach");
  const auto deadline = deadline_after(Milliseconds(1000));
  while (true) {
    if (!store_answers()) {
      return fmt::format("rank 0, which hosts the store, hangs or has died: {}; {}",
                         store_trouble_.empty() ? error : store_trouble_, kFix);
    }
    std::string blame;
    {
      std::lock_guard lock(mutex_);
      blame = gone_or_failed();
      if (blame.empty() && (late || broke)) blame = silent();
      if (blame.empty() && late) blame = behind();
    }
    if (!blame.empty()) return blame;
    // A connection may break before the store detects that the peer process has died.
    if (!broke || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(Milliseconds(20));
  }
  try {
    store_->set(key("failed", group_.rank()), error);
  } catch (const std::exception&) {  // the others notice when our connection closes
  }
  return error;
}

}  // namespace lockstep::distributed
