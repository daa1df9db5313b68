#include "engine/distributed/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lockstep::distributed {
namespace {

std::string key(const char* what, int rank) {
  return std::string(what) + "/" + std::to_string(rank);
}

/// Ten per timeout, but neither a flood nor a rarity.
Milliseconds interval_for(Milliseconds timeout) {
  return std::clamp(timeout / 10, Milliseconds(50), Milliseconds(1000));
}

constexpr const char* kMend = "start all ranks again";

}  // namespace

Monitor::Monitor(std::shared_ptr<Store> store, ProcessGroup& group,
                 Milliseconds timeout)
    : store_(std::move(store)), group_(group), interval_(interval_for(timeout)) {
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
    lock.unlock();
    try {
      beat();
      if (const std::string blame = blame_of_others(); !blame.empty()) {
        group_.communicator().abort(blame);
      }
    } catch (const std::exception& error) {  // the store is gone, and rank 0 with it
      group_.communicator().abort(error.what());
    }
    lock.lock();
    changed_.wait_for(lock, interval_, [this] { return closing_; });
  }
}

void Monitor::beat() {
  store_->set(key("at", group_.rank()), group_.last_call());
  store_->add(key("beat", group_.rank()), 1);
}

Monitor::Seen Monitor::look(int rank) {
  Seen seen;
  seen.beat = std::atoll(store_->try_get(key("beat", rank)).value_or("-1").c_str());
  seen.at = store_->try_get(key("at", rank)).value_or("no collective");
  seen.gone = store_->try_get(gone_key(rank)).has_value();
  seen.failed = store_->try_get(key("failed", rank)).value_or("");
  return seen;
}

/// The rank that failed first, as far as the store knows; empty if all are well.
std::string Monitor::blame_of_others() {
  std::string failed;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    const Seen seen = look(rank);
    if (!seen.failed.empty()) {
      failed = fmt::format("rank {} failed: {}", rank, seen.failed);
    } else if (seen.gone) {
      return fmt::format("rank {} died (it was at {}); {}", rank, seen.at, kMend);
    }
  }
  return failed;
}

/// A rank without a heartbeat during two intervals; else one that is behind the others.
std::string Monitor::silent_rank() {
  std::vector<Seen> before;
  for (int rank = 0; rank < group_.size(); ++rank) before.push_back(look(rank));
  std::this_thread::sleep_for(2 * interval_ + Milliseconds(100));
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    const Seen now = look(rank);
    if (now.beat != before[rank].beat) continue;
    return fmt::format(
        "rank {} hangs or died: no sign of life for {:.1f} s (it was at {}); {}", rank,
        std::chrono::duration<double>(2 * interval_ + Milliseconds(100)).count(), now.at,
        kMend);
  }
  return {};
}

std::string Monitor::explain(const std::string& error) {
  const bool of_others = error.find("the connection with rank") != error.npos ||
                         error.find("did not come to") != error.npos ||
                         error.find("cannot reach rank") != error.npos ||
                         error.find("store") != error.npos;
  try {
    if (!of_others) {
      if (const std::string blame = blame_of_others(); !blame.empty()) return blame;
      store_->set(key("failed", group_.rank()), error);
      return error;
    }
    const auto deadline = store::deadline_after(Milliseconds(1000));
    while (store::Clock::now() < deadline) {
      if (const std::string blame = blame_of_others(); !blame.empty()) return blame;
      std::this_thread::sleep_for(Milliseconds(20));
    }
    if (const std::string silent = silent_rank(); !silent.empty()) return silent;
    const std::string message = error + "; " + kMend;
    store_->set(key("failed", group_.rank()), message);
    return message;
  } catch (const std::exception& lost) {
    return fmt::format("{} ({}); {}", error, lost.what(), kMend);
  }
}

}  // namespace lockstep::distributed
