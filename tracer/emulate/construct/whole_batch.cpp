#include "tracer/emulate/construct/whole_batch.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

/// Kernels and operations of the loss that read or write one scalar.
bool has_scalar(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "aten::full_like",  "fill",
      "aten::nll_loss",   "nll_loss",
      "aten::topk",       "correct_in_top_k",
      "NllLossBackward0", "nll_loss_backward"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

void Widening::operator()(Event& event) const {
  if (event.name.view() == reasons::d2h) return;  // a scalar
  widen_shapes(event);
  if (!event.args.contains(keys::bytes)) return;
  const int64_t before = int_arg(event.args, keys::bytes);
  const int64_t fixed = has_scalar(event.name.view()) ? scalar_ : 0;
  const int64_t after = (before - fixed) / from_ * to_ + fixed;
  event.args[keys::bytes] = after;
  if (!event.is(categories::kernel) || before == 0) return;
  const double time = static_cast<double>(kernel_facts(event).cpu) *
                      static_cast<double>(after) / static_cast<double>(before);
  event.dur = static_cast<int64_t>(time);
  event.args[keys::cpu_us] = static_cast<double>(event.dur) / 1e3;
}

void Widening::widen_shapes(Event& event) const {
  for (const char* key : {keys::shapes, keys::shape}) {
    if (!event.args.contains(key)) continue;
    Json shapes = event.args.find(key).json();
    if (key == keys::shape) shapes = Json::array({shapes});
    for (Json& shape : shapes) {
      if (!shape.empty() && shape[0] == from_) shape[0] = to_;
    }
    event.args[key] = key == keys::shape ? shapes[0] : shapes;
  }
}

}  // namespace lockstep::tracer
