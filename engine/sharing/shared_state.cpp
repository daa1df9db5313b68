#include "engine/sharing/shared_state.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <new>
#include <stdexcept>
#include <system_error>

namespace lockstep::sharing {

void RobustMutex::initialise() {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&mutex_, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

/// Returns whether the lock came from a live holder.
bool RobustMutex::take_over(int error) {
  if (error == 0) return true;
  if (error != EOWNERDEAD) {
    throw std::system_error(error, std::generic_category(), "the lock of a model");
  }
  ::pthread_mutex_consistent(&mutex_);
  return false;
}

bool RobustMutex::lock() { return take_over(::pthread_mutex_lock(&mutex_)); }

void RobustMutex::unlock() { ::pthread_mutex_unlock(&mutex_); }

RobustMutex::Found RobustMutex::look() {
  const int error = ::pthread_mutex_trylock(&mutex_);
  if (error == EBUSY) return Found::held;
  const bool alive = take_over(error);
  unlock();
  return alive ? Found::free : Found::holder_died;
}

namespace {

uint32_t* word_of(const SharedCounter& counter) {
  return reinterpret_cast<uint32_t*>(const_cast<SharedCounter*>(&counter));
}

}  // namespace

void SharedCounter::advance() {
  value_.fetch_add(1, std::memory_order_acq_rel);
  wake();
}

void SharedCounter::wake() const {
  ::syscall(SYS_futex, word_of(*this), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedCounter::wait_a_little(uint32_t value) const {
  const timespec most{0, 50'000'000};
  ::syscall(SYS_futex, word_of(*this), FUTEX_WAIT, value, &most, nullptr, 0);
}

void SharedState::construct(char* memory) {
  auto* const state = new (memory) SharedState;
  for (RobustMutex* mutex :
       {&state->meeting.mutex, &state->gate.mutex, &state->lock.held}) {
    mutex->initialise();
  }
  for (Life& life : state->lives) life.alive.initialise();
}

void Patience::require_usable() const {
  const std::lock_guard lock(mutex_);
  if (!why_.empty()) throw std::runtime_error(why_);
}

void Patience::abandon(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (why_.empty()) why_ = why;
}

bool Patience::abandoned() const {
  const std::lock_guard lock(mutex_);
  return !why_.empty();
}

namespace {

/// Watches the workers that have not come. Each step that one of them makes restarts
/// the timeout.
class Absent {
 public:
  Absent(const Meeting& meeting, int workers, uint32_t round, const Patience& patience)
      : meeting_(meeting), workers_(workers), round_(round), patience_(patience) {}

  /// Throws std::runtime_error naming one of them after too long.
  void watch() {
    if (patience_.timeout() <= Milliseconds(0)) return;
    int64_t beats = 0;
    int missing = -1;
    for (int w = workers_ - 1; w >= 0; --w) {
      if (meeting_.rounds_of[w] != round_) continue;
      missing = w;
      beats += patience_.state().beats[w];
    }
    if (beats != beats_) {
      beats_ = beats;
      since_ = Clock::now();
    }
    if (missing < 0 || Clock::now() - since_ < patience_.timeout()) return;
    throw std::runtime_error(
        fmt::format("rank {} did not reach the meeting of all workers within {:g} s",
                    missing, static_cast<double>(patience_.timeout().count()) / 1000));
  }

 private:
  const Meeting& meeting_;
  const int workers_;
  const uint32_t round_;
  const Patience& patience_;
  int64_t beats_ = -1;
  TimePoint since_ = Clock::now();
};

void set_round(Meeting& meeting, const Patience& patience, uint32_t round) {
  if (patience.worker() >= 0) meeting.rounds_of[patience.worker()] = round;
}

/// Leaves a meeting that is not complete. Returns false if it has become so.
bool withdraw(Meeting& meeting, uint32_t round, const Patience& patience) {
  meeting.mutex.lock();
  const bool in_time = meeting.round.load() == round;
  if (in_time) {
    --meeting.arrived;
    set_round(meeting, patience, round);
  }
  meeting.mutex.unlock();
  return in_time;
}

}  // namespace

bool meet(Meeting& meeting, int workers, bool mine, const Patience& patience,
          const std::atomic<bool>* stop) {
  meeting.mutex.lock();
  const uint32_t round = meeting.round.load();
  meeting.all = meeting.all && mine;
  set_round(meeting, patience, round + 1);
  const bool complete = ++meeting.arrived == workers;
  if (complete) {
    meeting.agreed = meeting.all;
    meeting.all = true;
    meeting.arrived = 0;
    meeting.round.advance();
  }
  meeting.mutex.unlock();
  Absent absent(meeting, workers, round, patience);
  while (meeting.round.load() == round) {
    patience.require_usable();
    const bool stops = stop && (*stop || patience.state().stop);
    if (stops && withdraw(meeting, round, patience)) return false;
    absent.watch();
    meeting.round.wait_a_little(round);
  }
  return meeting.agreed;  // the next round waits for this worker
}

}  // namespace lockstep::sharing
