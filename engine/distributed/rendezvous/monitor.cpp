#include "engine/distributed/rendezvous/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
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

/// Returns the latest collective of a rank that the store has named.
std::string place_of(int rank, const Health& news) {
  for (const Health::Rank* named :
       {&news.gone, &news.failed, &news.silent, &news.last, &news.first}) {
    if (named->rank == rank) return named->at;
  }
  return "an unknown collective";
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
    const Named named = name_culprit(Call::unfinished, trouble.empty(), trouble);
    if (!named.words.empty() && !closing_ && act_on(named)) {
      const std::string words = after_own_silence(named.words);
      lock.unlock();
      last_resort_(words);
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
bool Monitor::act_on(const Named& named) {
  group_.communicator().abort(named.words);
  if (ProcessGroup* other = other_group_) other->communicator().abort(named.words);
  named_ = named;
  if (blamed_at_ == TimePoint{}) blamed_at_ = Clock::now();
  const bool unnoticed = Clock::now() - blamed_at_ > kLastResort;
  return unnoticed && !explaining_ && last_resort_;
}

/// Asks the function in the slot. `error` is what the store's client, or this rank's
/// call, said. mutex_ must be held.
Monitor::Named Monitor::name_culprit(Call call, bool store_answers,
                                     const std::string& error) const {
  Evidence evidence{news_of(news_), patience(call), call == Call::timed_out,
                    store_answers, std::nullopt};
  if (!named_.words.empty()) evidence.earlier = named_.blame;
  const Blame blame = blame_slot().in_use()(evidence);
  if (!store_answers && evidence.earlier == blame) return named_;
  return {blame, in_words(blame, error)};
}

/// Returns the silence that is too long for a rank that is alive: a few heartbeats if a
/// call of this rank has not succeeded. Otherwise there is no hurry, except where ranks
/// wait for answers through the store and no collective of theirs will be late.
Milliseconds Monitor::patience(Call call) const {
  const Milliseconds few_beats = 3 * interval_ + Milliseconds(200);
  if (call == Call::broke || call == Call::timed_out) return few_beats;
  const bool waits_for_answers = other_group_ != nullptr && !ranks_end_;
  if (!waits_for_answers) return Milliseconds::max();
  return std::max(few_beats, Milliseconds(timeout_ * 3 / 4));
}

/// Returns the message; empty if nobody is to blame. mutex_ must be held.
std::string Monitor::in_words(const Blame& blame, const std::string& error) const {
  using What = Blame::What;
  const std::string at = place_of(blame.rank, news_);
  const double silence = static_cast<double>(news_.silence.count()) / 1000;
  switch (blame.what) {
    case What::died:
      return fmt::format("rank {} died (it was at {}); {}", blame.rank, at, kFix);
    case What::failed:
      return fmt::format("rank {} failed: {}", blame.rank, news_.failure);
    case What::hangs:
      return fmt::format(
          "rank {} hangs or has died: no heartbeat for {:.1f} s (it was at {}); {}",
          blame.rank, silence, at, kFix);
    case What::never_joined:
      return fmt::format(
          "rank {} never joined: no heartbeat for {:.1f} s; was it started, and do all "
          "ranks use the same world size?",
          blame.rank, silence);
    case What::behind:
      return fmt::format(
          "rank {} did not reach {} within {:g} s: it is alive, but still at {}; is it "
          "slow (increase --timeout), or does it run different steps from the others?",
          blame.rank, news_.first.at, static_cast<double>(timeout_.count()) / 1000, at);
    case What::lost_store:
      return store_lost(store_trouble_.empty() ? error : store_trouble_);
    default:
      return {};
  }
}

void Monitor::require_all() const {
  std::lock_guard lock(mutex_);
  if (!named_.words.empty()) throw std::runtime_error(named_.words);
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

/// Returns the reason when the store is lost. `error` is what this rank's call said.
std::string Monitor::without_store(Call call, const std::string& error) const {
  std::lock_guard lock(mutex_);
  const std::string words = name_culprit(call, false, error).words;
  return words.empty() ? error : words;
}

std::string Monitor::reason_for(const std::string& error) {
  {
    std::lock_guard lock(mutex_);
    explaining_ = true;
  }
  const auto says = [&](const char* text) { return error.find(text) != error.npos; };
  const bool broke = says("the connection to") || says("cannot reach rank");
  const Call call = says("did not reach") ? Call::timed_out
                    : broke               ? Call::broke
                                          : Call::failed;
  // This thread may use the store, and find it lost, before the monitor's next round.
  if (says("(hosted by rank 0)") && !says("hosts the store")) {
    return without_store(call, error);
  }
  const auto deadline = deadline_after(Milliseconds(1000));
  while (true) {
    if (!store_answers()) return without_store(call, error);
    {
      std::lock_guard lock(mutex_);
      const Named named = name_culprit(call, true, error);
      if (!named.words.empty()) return named.words;
    }
    // A connection may break before the store detects that the peer process has died.
    if (!broke || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(Milliseconds(20));
  }
  try {
    store_->set(failed_key(group_.rank()), error);
  } catch (const StoreGone&) {
    return without_store(call, error);
  } catch (const std::exception&) {  // the others notice when our connection closes
  }
  return error;
}

}  // namespace lockstep::distributed
