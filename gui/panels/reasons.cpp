#include "gui/panels/reasons.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace lockstep::gui {

namespace {

/// Returns the step's reasons for copies, largest first by bytes.
std::vector<std::string> reasons_of(const OpenTrace& trace) {
  std::map<uint32_t, int64_t> bytes;
  for (const PortBytes& port : trace.step.ports) bytes[port.why] += port.bytes;
  std::vector<std::pair<int64_t, uint32_t>> order;
  for (const auto& [why, sum] : bytes) order.emplace_back(-sum, why);
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (const auto& [sum, why] : order) names.push_back(trace.model->strings[why]);
  return names;
}

}  // namespace

void draw_reasons(const Ui& ui, float x, float y, float right, const OpenTrace& trace) {
  for (const std::string& why : reasons_of(trace)) {
    if (why.empty()) continue;
    const float wide = 11 + ui.width(Type::small, why);
    if (x + wide > right) return;
    ui.fill({x, y + 4, 7, 7}, reason_colour(ui.theme, why), 2);
    ui.text(x + 11, y, Type::small, ui.theme.dim, why);
    x += wide + 11;
  }
}

}  // namespace lockstep::gui
