#include "engine/distributed/rendezvous/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace lockstep::distributed {
namespace {

/// Returns a tenth of the timeout, between 50 ms and 1 s.
Milliseconds interval_for(Milliseconds timeout) {
  return std::clamp(timeout / 10, Milliseconds(50), Milliseconds(1000));
}

constexpr Milliseconds kLastResort{1500};
constexpr const char* kFix = "fix: restart all ranks";

/// Returns by how much a wait that should have taken `wanted` has been too long.
Milliseconds too_long(TimePoint since, Milliseconds wanted) {
  const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - since);
  return std::max(waited - wanted, Milliseconds(0));
}

/// The store dies with the process that hosts it. `error` is what its client noticed.
std::string store_lost(const std::string& error) {
  return fmt::format("rank 0, which hosts the store, hangs or has died: {}; {}", error,
                     kFix);
}

}  // namespace

Monitor::Monitor(std::shared_ptr<Store> store, ProcessGroup& group,
                 Milliseconds timeout,
                 std::function<void(const std::string&)> last_resort)
    : store_(std::move(store)),
      group_(group),
      interval_(interval_for(timeout)),
      timeout_(timeout),
      last_resort_(std::move(last_resort)) {
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
    std::string blame = trouble.empty() ? gone_or_failed() : store_lost(trouble);
    if (!trouble.empty() && !blame_.empty()) blame = blame_;  // rank 0 ended by it, too
    if (blame.empty()) blame = hung();
    if (!blame.empty() && !closing_ && act_on(blame)) {
      blame = after_own_silence(blame);
      lock.unlock();
      last_resort_(blame);
      lock.lock();
    }
    waits_since_ = Clock::now();
    changed_.wait_for(lock, interval_, [this] { return closing_; });
    note_pause(std::exchange(waits_since_, {}));
  }
}

/// Tells this rank's heartbeat and latest collective, and learns those of the others.
void Monitor::exchange_news() {
  const auto [seq, at] = group_.last_call();
  const int64_t place = other_group_ != nullptr ? 0 : seq;
  Health news = store_->beat({group_.rank(), group_.size(), place, at});
  std::lock_guard lock(mutex_);
  news_ = std::move(news);
}

/// Aborts the group and returns whether it is time for the last resort. mutex_ must be
/// held by the caller.
bool Monitor::act_on(const std::string& blame) {
  group_.communicator().abort(blame);
  if (ProcessGroup* other = other_group_) other->communicator().abort(blame);
  blame_ = blame;
  if (blamed_at_ == TimePoint{}) blamed_at_ = Clock::now();
  const bool unnoticed = Clock::now() - blamed_at_ > kLastResort;
  return unnoticed && !explaining_ && last_resort_;
}

/// Prefers to blame a rank whose process has died over one that reports a failure,
/// which is often a consequence of the death. mutex_ must be held.
std::string Monitor::gone_or_failed() const {
  const auto& [gone, failed] = std::tie(news_.gone, news_.failed);
  if (gone.rank >= 0) {
    return fmt::format("rank {} died (it was at {}); {}", gone.rank, gone.at, kFix);
  }
  if (failed.rank < 0) return {};
  return fmt::format("rank {} failed: {}", failed.rank, news_.failure);
}

/// Returns a message naming a rank whose heartbeat has stopped. mutex_ must be held.
std::string Monitor::silent() const {
  const Health::Rank& silent = news_.silent;
  if (silent.rank < 0 || news_.silence < 3 * interval_ + Milliseconds(200)) return {};
  const double silence = static_cast<double>(news_.silence.count()) / 1000;
  if (!news_.has_beaten) {
    return fmt::format(
        "rank {} never joined: no heartbeat for {:.1f} s; was it started, and do all "
        "ranks use the same world size?",
        silent.rank, silence);
  }
  return fmt::format(
      "rank {} hangs or has died: no heartbeat for {:.1f} s (it was at {}); {}",
      silent.rank, silence, silent.at, kFix);
}

/// The same, without a collective of this rank that is late: some ranks wait for
/// answers through the store instead. mutex_ must be held.
std::string Monitor::hung() const {
  const bool waits_for_answers = other_group_ != nullptr && !ranks_end_;
  return waits_for_answers && news_.silence >= timeout_ * 3 / 4 ? silent() : "";
}

/// Returns a message naming a rank that is alive but has not reached the latest
/// collective of the others. mutex_ must be held.
std::string Monitor::behind() const {
  const auto& [last, first] = std::tie(news_.last, news_.first);
  if (last.seq == first.seq) return {};
  return fmt::format(
      "rank {} did not reach {} within {:g} s: it is alive, but still at {}; is it "
      "slow (increase --timeout), or does it run different steps from the others?",
      last.rank, first.at, static_cast<double>(timeout_.count()) / 1000, last.at);
}

void Monitor::require_all() const {
  std::lock_guard lock(mutex_);
  if (!blame_.empty()) throw std::runtime_error(blame_);
}

bool Monitor::store_answers() const {
  std::lock_guard lock(mutex_);
  return store_trouble_.empty() &&
         (round_over_ || Clock::now() - round_began_ < 2 * interval_ + kLastResort);
}

/// A process that was stopped, and goes on, finds that the others are gone. Only a
/// thread that does nothing but wait can tell. mutex_ must be held.
void Monitor::note_pause(TimePoint began) {
  const Milliseconds more = too_long(began, interval_);
  if (more < timeout_ / 2) return;
  oversleep_ = more;
  overslept_at_ = Clock::now();
}

std::string Monitor::after_own_silence(std::string reason) {
  if (waits_since_ != TimePoint{}) note_pause(waits_since_);
  const Milliseconds silence = oversleep_;
  const bool recent = Clock::now() - overslept_at_ < timeout_;
  if (silence == Milliseconds(0) || !recent) return reason;
  return fmt::format(
      "this rank was itself stopped, or had no CPU time, for {:.1f} s, so the others "
      "may have ended without it: {}",
      static_cast<double>(silence.count()) / 1000, reason);
}

std::string Monitor::explain(const std::string& error) {
  std::string reason = reason_for(error);
  std::lock_guard lock(mutex_);
  return after_own_silence(std::move(reason));
}

/// Returns the reason when the store is lost. Rank 0 ends after any failure, and the
/// store with it: if a failure is known, that is the reason, otherwise rank 0 itself.
/// `error` is what this rank's call said.
std::string Monitor::known_or(const std::string& error) const {
  std::lock_guard lock(mutex_);
  if (!blame_.empty()) return blame_;
  return store_lost(store_trouble_.empty() ? error : store_trouble_);
}

std::string Monitor::reason_for(const std::string& error) {
  {
    std::lock_guard lock(mutex_);
    explaining_ = true;
  }
  const auto says = [&](const char* text) { return error.find(text) != error.npos; };
  // This thread may use the store, and find it lost, before the monitor's next round.
  if (says("(hosted by rank 0)") && !says("hosts the store")) return known_or(error);
  const bool broke = says("the connection to") || says("cannot reach rank");
  const bool late = says("did not reach");
  const auto deadline = deadline_after(Milliseconds(1000));
  while (true) {
    if (!store_answers()) return known_or(error);
    std::string blame;
    {
      std::lock_guard lock(mutex_);
      blame = gone_or_failed();
      if (blame.empty() && (late || broke)) blame = silent();
      if (blame.empty()) blame = hung();
      if (blame.empty() && late) blame = behind();
    }
    if (!blame.empty()) return blame;
    // A connection may break before the store detects that the peer process has died.
    if (!broke || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(Milliseconds(20));
  }
  try {
    store_->set(failed_key(group_.rank()), error);
  } catch (const std::exception&) {  // the others notice when our connection closes
  }
  return error;
}

}  // namespace lockstep::distributed
