#include "engine/sharing/shared_model.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "engine/ops/copy.h"

namespace lockstep::sharing {
namespace {

template <typename T>
void read_elements(const Tensor& from, const Tensor& into) {
  T* const source = from.data<T>();
  T* const target = into.data<T>();
  for (int64_t i = 0; i < from.numel(); ++i) target[i] = Element<T>(source[i]).load();
}

/// Makes the step from `read` to `next`, and adds what happened to `update`.
template <typename T>
void update_elements(const Tensor& shared, const Tensor& read, const Tensor& next,
                     UpdateBy rule, Update& update) {
  T* const elements = shared.data<T>();
  const T* const from = read.data<T>();
  const T* const to = next.data<T>();
  for (int64_t i = 0; i < shared.numel(); ++i) {
    if (same_bits(from[i], to[i])) continue;
    Element<T> element(elements[i]);
    const T now = element.load();
    ++update.written;
    update.conflicts += !same_bits(now, from[i]);
    if (rule == UpdateBy::fetch_add) {
      element.add(from[i], to[i]);
    } else {
      update.lost += element.store(now, moved(now, from[i], to[i]));
    }
  }
}

/// Calls `visit` with a value of the tensor's C++ type.
template <typename Visit>
auto with_type(const Tensor& tensor, Visit visit) {
  switch (tensor.dtype()) {
    case DType::f32:
      return visit(float());
    case DType::f64:
      return visit(double());
    case DType::i64:
      return visit(int64_t());
    default:
      throw std::runtime_error(std::string("cannot share a tensor of type ") +
                               name(tensor.dtype()));
  }
}

/// Where each tensor begins in the shared memory, and after them its end.
std::vector<size_t> places_of(const Tensors& tensors) {
  constexpr size_t kCacheLine = 64;
  std::vector<size_t> places{0};
  for (const Tensor& tensor : tensors) {
    const size_t end = places.back() + static_cast<size_t>(tensor.nbytes());
    places.push_back((end + kCacheLine - 1) / kCacheLine * kCacheLine);
  }
  return places;
}

int at_most(int workers) {
  if (workers <= kMaxWorkers) return workers;
  throw std::runtime_error(
      fmt::format("{} workers of one model, but at most {}; fix: "
                  "use fewer devices",
                  workers, kMaxWorkers));
}

}  // namespace

ShareMemory among_threads() {
  return [](size_t bytes, const std::function<void(char*)>& fill) {
    std::shared_ptr<char[]> memory(
        new (std::align_val_t(64)) char[bytes](),
        [](char* p) { ::operator delete[](p, std::align_val_t(64)); });
    fill(memory.get());
    return memory;
  };
}

SharedModel::SharedModel(UpdateBy rule, int workers)
    : SharedModel(rule, workers, {-1, Milliseconds(0), among_threads()}) {}

SharedModel::SharedModel(UpdateBy rule, int workers, WorkerProcess process)
    : rule_(rule),
      workers_(at_most(workers)),
      share_(std::move(process.share)),
      state_memory_(share_(sizeof(SharedState), SharedState::construct)),
      state_(reinterpret_cast<SharedState*>(state_memory_.get())),
      patience_(*state_, process.worker, process.timeout),
      lock_(state_->lock, patience_) {}

void SharedModel::start_with(const Tensors& tensors) {
  std::call_once(started_, [&] {
    const std::vector<size_t> places = places_of(tensors);
    const auto memory = share_(places.back(), [&](char* into) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        const Tensor host =
            ops::copy_to(tensors[i].detach(), kHost, {"d2h", "weights"});
        if (host.nbytes() == 0 || !host.view().data) continue;
        std::memcpy(into + places[i], host.view().data, host.nbytes());
      }
    });
    Tensors mine;
    for (size_t i = 0; i < tensors.size(); ++i) {
      has_values_ = computes(tensors[i].device().type);
      const std::shared_ptr<char[]> place(memory, memory.get() + places[i]);
      const TensorSpec spec{tensors[i].sizes(), tensors[i].dtype(), nullptr};
      mine.emplace_back(std::make_shared<Storage>(place, tensors[i].nbytes()), 0, spec);
    }
    tensors_ = std::move(mine);
  });
}

int64_t SharedModel::read(const Tensors& into) const {
  patience_.require_usable();
  if (patience_.worker() >= 0) ++state_->beats[patience_.worker()];
  const int64_t version = state_->version.load(std::memory_order_acquire);
  if (!has_values_) return version;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    with_type(tensors_[i],
              [&](auto zero) { read_elements<decltype(zero)>(tensors_[i], into[i]); });
  }
  return version;
}

Update SharedModel::apply(const Tensors& read, const Tensors& next,
                          int64_t read_version) {
  patience_.require_usable();
  Update update{.read_version = read_version};
  for (size_t i = 0; has_values_ && i < tensors_.size(); ++i) {
    with_type(tensors_[i], [&](auto zero) {
      update_elements<decltype(zero)>(tensors_[i], read[i], next[i], rule_, update);
    });
  }
  update.version = state_->version.fetch_add(1, std::memory_order_acq_rel) + 1;
  state_->staleness.fetch_add(update.staleness(), std::memory_order_relaxed);
  state_->lost.fetch_add(update.lost, std::memory_order_relaxed);
  state_->written.fetch_add(update.written, std::memory_order_relaxed);
  state_->conflicts.fetch_add(update.conflicts, std::memory_order_relaxed);
  return update;
}

int SharedModel::told_to_stop(int mine) {
  int none = 0;
  if (mine != 0) state_->stop.compare_exchange_strong(none, mine);
  return state_->stop;
}

UpdateTotals SharedModel::totals() const {
  UpdateTotals totals{version(),       state_->staleness, state_->lost,
                      state_->written, state_->conflicts, 0};
  for (const Tensor& tensor : tensors_) totals.elements += tensor.numel();
  return totals;
}

std::string SharedModel::report() const {
  const UpdateTotals all = totals();
  if (all.updates == 0) return "no updates";
  const auto mean = [&](int64_t sum) { return double(sum) / double(all.updates); };
  std::string text =
      fmt::format("{} update{} by {} worker{}, staleness {:.2f} on average",
                  all.updates, all.updates == 1 ? "" : "s", workers_,
                  workers_ == 1 ? "" : "s", mean(all.staleness));
  if (!has_values_) return text;
  text += all.lost == 0 ? ", no update lost"
                        : fmt::format(", at least {} element update{} lost", all.lost,
                                      all.lost == 1 ? "" : "s");
  return text + fmt::format(
                    "; an update changed {:.1f} of {} elements on average, {:.2f} of "
                    "them changed by others since they were read",
                    mean(all.written), all.elements, mean(all.conflicts));
}

}  // namespace lockstep::sharing
