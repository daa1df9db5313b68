// Weights in host memory that several workers read and update at the same time.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/sharing/death_watch.h"
#include "engine/sharing/model_lock.h"
#include "engine/tensor/tensor.h"

namespace lockstep::sharing {

/// How a worker changes an element that another worker may change at the same time.
enum class UpdateBy {
  /// Load, add, store, as in PyTorch's optimizers on shared memory: what another
  /// worker stores in between is overwritten, and that update is lost.
  store,
  fetch_add,  ///< one indivisible operation, as in the Hogwild paper: none is lost
};

template <typename T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Returns where the step from `read` to `next` leads from `now`. From `read` itself it
/// leads to `next`, bit by bit, whereas `now + (next - read)` may be rounded.
template <typename T>
T moved(T now, T read, T next) {
  return same_bits(now, read) ? next : now + (next - read);
}

/// One element of shared memory. All accesses are relaxed atomic operations.
template <typename T>
class Element {
 public:
  explicit Element(T& memory) : memory_(memory) {}

  T load() const { return memory_.load(std::memory_order_relaxed); }
  /// Stores `value`, which was computed from the loaded value `seen`. Returns whether
  /// the element had changed since then: the store overwrote another's update.
  bool store(T seen, T value) {
    return !same_bits(memory_.exchange(value, std::memory_order_relaxed), seen);
  }
  /// Makes the step from `read` to `next`, without losing another's.
  void add(T read, T next) {
    T now = load();
    while (!memory_.compare_exchange_weak(now, moved(now, read, next),
                                          std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic_ref<T> memory_;
};

/// One worker's update, as it was applied.
struct Update {
  int64_t read_version = 0;  ///< of the weights that the gradients were computed for
  int64_t version = 0;       ///< of the weights after the update
  int64_t lost = 0;          ///< elements in which it overwrote another worker's update
  int64_t written = 0;       ///< elements that it changed
  int64_t conflicts = 0;  ///< of those, the ones that others had changed since the read
  /// Returns the number of other updates between the read and this update.
  int64_t staleness() const { return version - 1 - read_version; }
};

/// The sums over all updates.
struct UpdateTotals {
  int64_t updates = 0, staleness = 0, lost = 0, written = 0, conflicts = 0;
  int64_t elements = 0;  ///< of the model
};

/// Returns `bytes` bytes of memory that all workers share; one of them has called
/// `fill` on it. The memory is freed with the pointer.
using ShareMemory = std::function<std::shared_ptr<char[]>(
    size_t bytes, const std::function<void(char*)>& fill)>;

/// Returns what shares memory between the threads of this process.
ShareMemory among_threads();

/// One worker of several, if each is a process, and how it shares memory with the
/// others.
struct WorkerProcess {
  int worker = 0;
  Milliseconds timeout{0};  ///< for another one that makes no progress
  ShareMemory share;
};

/// The weights, and what their workers agree on. Thread-safe. Buffers are shared like
/// parameters, as by PyTorch's `model.share_memory()`.
class SharedModel {
 public:
  /// Workers that are threads share this object. Workers that are processes have an
  /// object each, over the same memory. Throws std::runtime_error if there are more
  /// than kMaxWorkers.
  SharedModel(UpdateBy rule, int workers);
  SharedModel(UpdateBy rule, int workers, WorkerProcess process);

  /// Takes the weights from the first caller, or from the process that fills the
  /// memory. REQUIRES: every worker calls it before it reads, with equal values.
  void start_with(const Tensors& tensors);

  /// Copies the weights to host tensors of the same shapes, element by element, while
  /// others may be updating them. Returns the version before the first element.
  int64_t read(const Tensors& into) const;
  /// Makes the step from `read`, which was returned with `read_version`, to `next`.
  /// Elements that it leaves as they are are not written. The version is counted when
  /// the last element has been written.
  Update apply(const Tensors& read, const Tensors& next, int64_t read_version);

  /// Waits for all workers. Returns whether `mine` holds on all of them.
  bool agree(bool mine) { return meet(state_->meeting, workers_, mine, patience_); }
  /// Waits for all workers, for recording to begin or to end, unless one of them was
  /// told to stop. Returns whether all have come.
  bool pass_gate(const std::atomic<bool>& stop) {
    return meet(state_->gate, workers_, true, patience_, &stop);
  }
  ModelLock& lock() { return lock_; }

  /// `mine`: the signal that told this worker to stop; 0 if none did. Returns the first
  /// signal of all workers, or 0.
  int told_to_stop(int mine);

  /// Watches the other workers' processes while the returned object lives; REQUIRES:
  /// workers are processes. See DeathWatch.
  std::unique_ptr<DeathWatch> watch(std::function<void(int worker)> on_death) {
    return std::make_unique<DeathWatch>(*state_, patience_.worker(), workers_,
                                        std::move(on_death));
  }

  /// Makes pending and later calls of this process throw std::runtime_error with the
  /// message `why`.
  void abandon(const std::string& why) { patience_.abandon(why); }

  /// Returns false for devices that compute nothing: their weights are not copied.
  bool has_values() const { return has_values_; }
  const Tensors& tensors() const { return tensors_; }
  UpdateBy rule() const { return rule_; }
  int workers() const { return workers_; }
  int64_t version() const { return state_->version.load(std::memory_order_relaxed); }
  UpdateTotals totals() const;
  /// Returns how many updates were made, how stale they were, what was lost, and in how
  /// many of their elements they met others.
  std::string report() const;

 private:
  const UpdateBy rule_;
  const int workers_;
  const ShareMemory share_;
  const std::shared_ptr<char[]> state_memory_;
  SharedState* const state_;
  Patience patience_;
  ModelLock lock_;
  std::once_flag started_;
  bool has_values_ = true;
  Tensors tensors_;  ///< on the host, shared; changed only through Element
};

}  // namespace lockstep::sharing
