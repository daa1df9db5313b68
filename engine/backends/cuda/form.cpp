#include "engine/backends/cuda/form.h"

#include <map>
#include <mutex>
#include <tuple>

namespace lockstep::cuda {
namespace {

struct CudaLayout : Layout {
  CudaLayout(Form form, size_t bytes) : form(form), size(bytes) {}
  size_t bytes() const override { return size; }
  std::string str() const override {
    return std::string(form.nhwc ? "NHWC" : "plain") + (form.bf16 ? ":bfloat16" : "");
  }
  Form form;
  size_t size;
};

}  // namespace

Form form_of(const TensorSpec& spec) {
  if (!spec.layout) return {};
  return static_cast<const CudaLayout&>(*spec.layout).form;
}

Form form_of(const View& view) {
  if (view.layout == nullptr) return {};
  return static_cast<const CudaLayout&>(*view.layout).form;
}

Form activation_form(const Shape& sizes, bool bf16) {
  const bool images = sizes.rank() == 4;
  return {images && sizes[1] > 1 && sizes[2] * sizes[3] > 1, bf16};
}

Form float_form(Form form) { return {form.nhwc, false}; }

size_t bytes_of(const Shape& sizes, Form form) {
  return sizes.numel() * (form.bf16 ? 2 : 4);
}

LayoutPtr layout_of(const Shape& sizes, Form form) {
  if (form == Form{}) return nullptr;
  using Key = std::tuple<bool, bool, size_t>;
  static std::mutex mutex;
  static auto* const known = new std::map<Key, LayoutPtr>;
  const size_t bytes = bytes_of(sizes, form);
  std::lock_guard lock(mutex);
  LayoutPtr& layout = (*known)[{form.nhwc, form.bf16, bytes}];
  if (!layout) layout = std::make_shared<CudaLayout>(form, bytes);
  return layout;
}

}  // namespace lockstep::cuda
