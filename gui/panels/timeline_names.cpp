// Short names for small boxes.
#include <cctype>

#include "gui/model/waiting.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

bool take_prefix(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

/// Maps "void at::native::copy_kernel<4, int>(int, …)" to "copy_kernel".
std::string_view without_signature(std::string_view name) {
  take_prefix(name, "void ");
  name = name.substr(0, std::min(name.find('('), name.find('<')));
  const size_t space = name.rfind("::");
  const bool cut = space != std::string_view::npos && space + 2 < name.size();
  return cut ? name.substr(space + 2) : name;
}

}  // namespace

std::string short_name(std::string_view whole) {
  std::string_view name = whole;
  if (const size_t place = name.find(".py("); place != name.npos) {
    const size_t function = name.find("): ", place);
    if (function != name.npos) return std::string(name.substr(function + 3));
  }
  // "ConvolutionBackward0": a left arrow marks the backward pass.
  std::string_view head = name;
  while (!head.empty() && std::isdigit(static_cast<unsigned char>(head.back()))) {
    head.remove_suffix(1);
  }
  if (head.size() > 8 && head.ends_with("Backward")) {
    head.remove_suffix(8);
    return "← " + std::string(without_signature(head));
  }
  const bool has_signature = name.find("::") != std::string_view::npos ||
                             name.starts_with("void ") ||
                             name.find('<') != std::string_view::npos;
  if (has_signature) name = without_signature(name);
  if (name.empty()) return std::string(whole);
  std::string text(name);
  constexpr std::string_view kBackward = "_backward";
  if (const size_t at = text.find(kBackward); at != std::string::npos && at > 0) {
    std::string rest = text.substr(at + kBackward.size());
    if (!rest.empty() && rest[0] == '_') rest[0] = ' ';
    return "← " + text.substr(0, at) + rest;
  }
  return text;
}

const ShortName& TimelineFrame::name_of(const Event& event) {
  const auto [entry, fresh] = cache.names.try_emplace(event.name);
  if (fresh) {
    entry->second.text = short_name(model.name_of(event));
    entry->second.width = ui.width(Type::small, entry->second.text);
  }
  return entry->second;
}

int64_t TimelineFrame::queued_before(uint32_t event) {
  TimelineCache::Queued& known = cache.queued[event % cache.queued.size()];
  if (known.event != event) {
    known = {event, gui::queued_before(model, model.events[event])};
  }
  return known.ns;
}

const std::vector<uint32_t>& TimelineFrame::host_waits(uint32_t lane) {
  const auto [entry, fresh] = cache.host_waits.try_emplace(lane);
  if (fresh) {
    int64_t until = 0;  // a wait inside of another one is not listed
    for (const uint32_t index : model.lanes[lane].events) {
      const Event& event = model.events[index];
      if (event.what() != Kind::sync || event.end() <= until) continue;
      until = event.end();
      entry->second.push_back(index);
    }
  }
  return entry->second;
}

}  // namespace lockstep::gui
