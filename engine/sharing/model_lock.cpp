#include "engine/sharing/model_lock.h"

#include <fmt/format.h>

#include <stdexcept>

namespace lockstep::sharing {
namespace keys = tracer::keys;

ModelLock::~ModelLock() {
  if (held_by_ != std::this_thread::get_id()) return;
  state_.dead_holder = patience_.worker();
  state_.held.unlock();
}

void ModelLock::acquire() {
  const uint32_t ticket = state_.next_ticket.fetch_add(1, std::memory_order_relaxed);
  if (state_.serving.load() != ticket) {
    tracer::HostEvent sync("sync", "wait for lock");
    sync.arg({keys::why, tracer::reasons::lock});
    wait_for_turn(ticket);
    patience_.require_usable();
    if (state_.last_event != tracer::kNone) {
      if (state_.last_worker == patience_.worker()) {
        sync.waits_for({&state_.last_event, 1});
      } else {  // of another process, whose events have numbers of their own
        sync.arg({keys::for_rank, state_.last_worker})
            .arg({keys::for_event, state_.last_event});
      }
    }
  }
  patience_.require_usable();
  state_.held.lock();
  state_.holder = patience_.worker();
  held_by_ = std::this_thread::get_id();
}

void ModelLock::wait_for_turn(uint32_t ticket) {
  uint32_t serving = state_.serving.load();
  TimePoint since = Clock::now();
  while (serving != ticket && !patience_.abandoned()) {
    state_.serving.wait_a_little(serving);
    const uint32_t now = state_.serving.load();
    if (now != serving) since = Clock::now();
    serving = now;
    if (serving == ticket || patience_.timeout() <= Milliseconds(0)) continue;
    require_live_holder();
    if (Clock::now() - since < patience_.timeout()) continue;
    throw std::runtime_error(fmt::format(
        "rank {} did not reach the release of the model's lock within "
        "{:g} s",
        state_.holder.load(), static_cast<double>(patience_.timeout().count()) / 1000));
  }
}

void ModelLock::require_live_holder() {
  if (state_.held.look() == RobustMutex::Found::holder_died) {
    state_.dead_holder = state_.holder.load();
  }
  const int dead = state_.dead_holder;
  if (dead < 0) return;
  // A worker that ends because another one died may end with the lock.
  for (size_t w = 0; w < patience_.state().lives.size(); ++w) {
    if (static_cast<int>(w) == dead) continue;
    if (patience_.state().lives[w].presence != Presence::dead) continue;
    throw std::runtime_error(fmt::format("rank {} died; fix: restart all ranks", w));
  }
  throw std::runtime_error(
      fmt::format("rank {} died while it held the model's lock", dead));
}

void ModelLock::release(int64_t event) {
  state_.last_event = event;
  state_.last_worker = patience_.worker();
  state_.holder = -1;
  held_by_ = {};
  state_.held.unlock();
  state_.serving.advance();
}

}  // namespace lockstep::sharing
