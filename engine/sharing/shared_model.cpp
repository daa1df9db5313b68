#include "engine/sharing/shared_model.h"

#include <fmt/format.h>

#include <stdexcept>

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

}  // namespace

void SharedModel::start_with(const Tensors& tensors) {
  std::call_once(started_, [&] {
    Tensors mine;
    for (const Tensor& tensor : tensors) {
      has_values_ = tensor.device().type != DeviceType::null;
      const Tensor host = ops::copy_to(tensor.detach(), kHost, {"d2h", "weights"});
      mine.push_back(Tensor::empty(host.sizes(), kHost, host.dtype()));
      std::memcpy(mine.back().view().data, host.view().data, host.nbytes());
    }
    tensors_ = std::move(mine);
  });
}

int64_t SharedModel::read(const Tensors& into) const {
  require_usable();
  const int64_t version = version_.load(std::memory_order_acquire);
  if (!has_values_) return version;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    with_type(tensors_[i],
              [&](auto zero) { read_elements<decltype(zero)>(tensors_[i], into[i]); });
  }
  return version;
}

Update SharedModel::apply(const Tensors& read, const Tensors& next,
                          int64_t read_version) {
  require_usable();
  Update update{.read_version = read_version};
  for (size_t i = 0; has_values_ && i < tensors_.size(); ++i) {
    with_type(tensors_[i], [&](auto zero) {
      update_elements<decltype(zero)>(tensors_[i], read[i], next[i], rule_, update);
    });
  }
  update.version = version_.fetch_add(1, std::memory_order_acq_rel) + 1;
  staleness_.fetch_add(update.staleness(), std::memory_order_relaxed);
  lost_.fetch_add(update.lost, std::memory_order_relaxed);
  written_.fetch_add(update.written, std::memory_order_relaxed);
  conflicts_.fetch_add(update.conflicts, std::memory_order_relaxed);
  return update;
}

bool SharedModel::agree(bool mine) {
  std::unique_lock lock(mutex_);
  const int64_t round = round_;
  all_ = all_ && mine;
  if (++arrived_ == workers_) {
    agreed_ = std::exchange(all_, true);
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return round_ != round || !abandoned_.empty(); });
  if (round_ == round) throw std::runtime_error(abandoned_);
  return agreed_;
}

void SharedModel::abandon(const std::string& why) {
  {
    std::lock_guard lock(mutex_);
    if (abandoned_.empty()) abandoned_ = why;
    changed_.notify_all();
  }
  lock_.abandon(why);
}

void SharedModel::require_usable() const {
  std::lock_guard lock(mutex_);
  if (!abandoned_.empty()) throw std::runtime_error(abandoned_);
}

UpdateTotals SharedModel::totals() const {
  UpdateTotals totals{version(),       staleness_.load(), lost_.load(),
                      written_.load(), conflicts_.load(), 0};
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
