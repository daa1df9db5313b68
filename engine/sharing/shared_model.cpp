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

/// Returns the number of elements in which another worker's update was overwritten.
template <typename T>
int64_t update_elements(const Tensor& shared, const Tensor& read, const Tensor& next,
                        UpdateBy rule) {
  T* const elements = shared.data<T>();
  const T* const from = read.data<T>();
  const T* const to = next.data<T>();
  int64_t lost = 0;
  for (int64_t i = 0; i < shared.numel(); ++i) {
    if (same_bits(from[i], to[i])) continue;
    Element<T> element(elements[i]);
    if (rule == UpdateBy::fetch_add) {
      element.add(from[i], to[i]);
    } else {
      const T now = element.load();
      lost += element.store(now, moved(now, from[i], to[i]));
    }
  }
  return lost;
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
  Update update{read_version, 0, 0};
  for (size_t i = 0; has_values_ && i < tensors_.size(); ++i) {
    update.lost += with_type(tensors_[i], [&](auto zero) {
      return update_elements<decltype(zero)>(tensors_[i], read[i], next[i], rule_);
    });
  }
  update.version = version_.fetch_add(1, std::memory_order_acq_rel) + 1;
  staleness_.fetch_add(update.staleness(), std::memory_order_relaxed);
  lost_.fetch_add(update.lost, std::memory_order_relaxed);
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

std::string SharedModel::report() const {
  const int64_t updates = version();
  if (updates == 0) return "no updates";
  std::string text =
      fmt::format("{} update{} by {} worker{}, staleness {:.2f} on average", updates,
                  updates == 1 ? "" : "s", workers_, workers_ == 1 ? "" : "s",
                  static_cast<double>(staleness_.load()) / double(updates));
  if (!has_values_) return text;
  const int64_t lost = lost_.load();
  if (lost == 0) return text + ", no update lost";
  return text +
         fmt::format(", at least {} element update{} lost", lost, lost == 1 ? "" : "s");
}

}  // namespace lockstep::sharing
