#include "engine/sharing/death_watch.h"

#include <utility>

namespace lockstep::sharing {

DeathWatch::DeathWatch(SharedState& state, int worker, int workers,
                       std::function<void(int worker)> on_death)
    : state_(state),
      worker_(worker),
      workers_(workers),
      on_death_(std::move(on_death)),
      thread_([this] { work(); }) {}

DeathWatch::~DeathWatch() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DeathWatch::leave() { state_.lives[worker_].presence = Presence::left; }

void DeathWatch::work() {
  Life& mine = state_.lives[worker_];
  mine.alive.lock();
  mine.presence = Presence::here;
  int dead = -1;
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (dead < 0 && (dead = find_dead()) >= 0) {
      lock.unlock();
      on_death_(dead);
      lock.lock();
    }
    changed_.wait_for(lock, Milliseconds(50), [this] { return closing_; });
  }
  leave();
  mine.alive.unlock();
}

/// A mutex of a dead worker is seen as such only once, so what was seen is noted.
int DeathWatch::find_dead() {
  for (int w = 0; w < workers_; ++w) {
    Life& life = state_.lives[w];
    if (life.presence == Presence::dead) return w;
    if (w == worker_ || life.presence != Presence::here) continue;
    if (life.alive.look() != RobustMutex::Found::holder_died) continue;
    Presence here = Presence::here;  // unless it left in the meantime
    if (life.presence.compare_exchange_strong(here, Presence::dead)) return w;
  }
  return -1;
}

}  // namespace lockstep::sharing
