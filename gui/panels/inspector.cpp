// Shows everything that the trace records about the current event, with links to its
// causes and effects.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/transfers.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

namespace {

struct Fact {
  std::string name, value;
  uint32_t link = kNoEvent;  ///< the event that a click goes to
};

constexpr size_t kMostLinks = 12, kMostNames = 64;

const char* kind_name(Kind kind) {
  static constexpr const char* names[] = {
      "training step", "phase",      "call", "operation", "kernel",
      "copy",          "collective", "wait", "mark",      "event"};
  return names[static_cast<size_t>(kind)];
}

std::string rate(double per_second, const char* unit) {
  const char* prefix[] = {"", "k", "M", "G", "T"};
  size_t i = 0;
  for (; per_second >= 1000 && i < 4; ++i) per_second /= 1000;
  return fmt::format("{:.1f} {}{}", per_second, prefix[i], unit);
}

std::string name_with_id(const Model& model, uint32_t index) {
  return model.name_of(model.events[index]);
}

std::string in_words(const tracer::Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string text = value.dump(-1, ' ', false, tracer::Json::error_handler_t::replace);
  if (text.size() > 300) text = text.substr(0, 300) + " …";
  return text;
}

void add_rates(const Model& model, const Event& event, const tracer::Json& args,
               std::vector<Fact>& facts) {
  if (event.dur <= 0) return;
  const double seconds = static_cast<double>(event.dur) * 1e-9;
  int64_t flops = int_arg(args, keys::flops);
  if (flops == 0 && event.what() == Kind::kernel && event.parent != kNoEvent) {
    flops = int_arg(args_of(model, model.events[event.parent]), keys::flops);
  }
  const bool ran = event.is_task();
  if (flops > 0 && ran) {
    facts.push_back({"speed", rate(static_cast<double>(flops) / seconds, "FLOP/s")});
  }
  const int64_t bytes = int_arg(args, keys::bytes);
  if (bytes > 0 && ran) {
    facts.push_back({"bandwidth", rate(static_cast<double>(bytes) / seconds, "B/s")});
  }
}

/// Returns the parameter whose gradient a kernel completed, as named by its mark.
std::string gradient_of(const Model& model, uint32_t kernel) {
  const Event& event = model.events[kernel];
  if (event.what() != Kind::kernel) return "";
  for (uint32_t place = event.order + 1; place < event.last; ++place) {
    const Event& mark = model.events[model.program[place]];
    if (mark.what() == Kind::mark) return string_arg(args_of(model, mark), keys::param);
  }
  return "";
}

/// Adds a list of names: first the count, then one name per line.
void add_names(const std::string& key, const tracer::Json& names,
               std::vector<Fact>& facts) {
  facts.push_back({key, std::to_string(names.size())});
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    facts.push_back({"", in_words(names[i])});
  }
  if (names.size() > kMostNames) {
    facts.push_back({"", fmt::format("and {} more", names.size() - kMostNames)});
  }
}

void add_links(const Model& model, uint32_t index, const tracer::Json& args,
               std::vector<Fact>& facts) {
  const Event& event = model.events[index];
  if (event.parent != kNoEvent) {
    facts.push_back({"caused by", name_with_id(model, event.parent), event.parent});
  }
  size_t listed = 0;
  for (uint32_t place = event.order + 1; place < event.last && listed < 6;) {
    const uint32_t child = model.program[place];
    const Event& caused = model.events[child];
    place = caused.last;
    if (caused.what() == Kind::mark) continue;
    facts.push_back({listed == 0 ? "causes" : "", name_with_id(model, child), child});
    ++listed;
  }
  const uint32_t forward = model.event_of_id(int_arg(args, keys::fwd, -1));
  if (forward != kNoEvent) {
    facts.push_back({"backward of", name_with_id(model, forward), forward});
  }
  for (const char* key : {keys::deps, keys::waits_for}) {
    const auto found = args.find(key);
    if (found == args.end() || !found->is_array()) continue;
    size_t count = 0;
    for (const tracer::Json& id : *found) {
      const bool known = id.is_number_integer();
      const uint32_t awaited = known ? model.event_of_id(id.get<int64_t>()) : kNoEvent;
      if (awaited == kNoEvent || ++count > kMostLinks) continue;
      std::string name = name_with_id(model, awaited);
      const std::string param = gradient_of(model, awaited);
      if (!param.empty()) name = param + " by " + name;
      facts.push_back({count == 1 ? "waited for" : "", name, awaited});
    }
    if (count > kMostLinks) {
      facts.push_back({"", fmt::format("and {} more", count - kMostLinks)});
    }
  }
}

/// Adds how much of a collective's time is hidden; `row` is kept for the next frame.
void add_split(const Model& model, uint32_t index, CollectiveRow& row,
               std::vector<Fact>& facts) {
  const Event& event = model.events[index];
  const bool divided = event.what() == Kind::collective && model.has_device_times() &&
                       !model.lanes[event.lane].is_host();
  if (!divided) return;
  if (row.event != index) row = collective_row(model, index);
  if (row.has_phases) {
    facts.push_back({"hidden", human_time(row.time.backward) + " behind backward"});
    facts.push_back({"", human_time(row.time.others()) + " behind other kernels"});
  } else {
    const int64_t hidden = row.time.took - row.time.exposed;
    facts.push_back(
        {"hidden", human_time(hidden) + (hidden > 0 ? ", in unknown phases" : "")});
  }
  facts.push_back({"exposed", human_time(row.time.exposed)});
  if (row.time.exposed > 0) {
    facts.push_back({"", row.time.unseen ? "of it waiting for ranks: unknown"
                                         : human_time(row.time.exposed_wait) +
                                               " of it waiting for ranks"});
  }
}

/// Adds the parameters of the server with which an event deals.
void add_owned(const OpenTrace& trace, const tracer::Json& args,
               std::vector<Fact>& facts) {
  const int64_t server = int_arg(args, keys::server, -1);
  if (server < 0 || server >= static_cast<int64_t>(trace.owned.size())) return;
  const tracer::OwnedParameters& owned = trace.owned[static_cast<size_t>(server)];
  tracer::Json names = tracer::Json::array();
  for (const tracer::OwnedParameter& own : owned) names.push_back(owned_words(own));
  add_names("owns", names, facts);
}

std::vector<Fact> facts_of(OpenTrace& trace, uint32_t index) {
  const Model& model = *trace.model;
  CollectiveRow& row = trace.collective;
  const Event& event = model.events[index];
  const tracer::Json args = args_of(model, event);
  std::vector<Fact> facts;
  const Lane& lane = model.lanes[event.lane];
  const Step& step = model.steps[model.step_of(event)];
  const bool timed = !event.is_task() || model.has_device_times();
  if (!timed) {
    facts.push_back({"step", std::to_string(step.number)});
    facts.push_back({"times", "none (null device)"});
  } else {
    facts.push_back(
        {"start",
         fmt::format("{:.3f} ms · step {}",
                     static_cast<double>(event.ts - step.begin) * 1e-6, step.number)});
    if (event.what() != Kind::mark) facts.push_back({"takes", human_time(event.dur)});
  }
  add_split(model, index, row, facts);
  facts.push_back(
      {"lane", (lane.process.empty() ? "" : lane.process + " · ") + lane.thread});
  if (const Copy* copy = model.copy_of(index)) {
    facts.push_back({"why", model.strings[copy->why]});
    facts.push_back({"from → to", device_label(model, copy->src) + " → " +
                                      device_label(model, copy->dst)});
    facts.push_back({"bytes", fmt::format("{:L}", copy->bytes)});
    const RingMessage message = ring_message(model, *copy);
    if (message.chunk >= 0) {
      facts.push_back(
          {"chunk", fmt::format("{} (0 to {}), {}", message.chunk, message.ranks - 1,
                                message.adds ? "added" : "replaces")});
    }
  }
  if (timed) add_rates(model, event, args, facts);
  add_links(model, index, args, facts);
  static constexpr std::string_view hidden[] = {keys::deps,
                                                keys::waits_for,
                                                keys::parent,
                                                keys::op,
                                                keys::fwd,
                                                keys::rank,
                                                keys::step,
                                                keys::src,
                                                keys::dst,
                                                keys::why,
                                                keys::memory_counters,
                                                keys::src_memory_counters};
  for (const auto& [key, value] : args.items()) {
    if (std::find(std::begin(hidden), std::end(hidden), key) != std::end(hidden))
      continue;
    if (key == keys::bytes && model.copy_of(index) != nullptr) continue;
    if (!timed && key.ends_with("_us")) continue;
    if (value.is_array() && !value.empty() && value.front().is_string()) {
      add_names(key, value, facts);
      continue;
    }
    const bool shape = value.is_array();
    const bool bytes = key.ends_with("bytes") && value.is_number_integer();
    // Of kernels, and of the calls that launch them, these are no messages.
    const bool moved = key == keys::bytes && event.what() != Kind::collective;
    facts.push_back(
        {moved ? "in memory" : key, shape   ? shape_arg(args, key.c_str())
                                    : bytes ? human_bytes(value.get<int64_t>()) +
                                                  (moved ? " read and written" : "")
                                            : in_words(value)});
  }
  add_owned(trace, args, facts);
  return facts;
}

/// Returns the event's colour if it has one; steps, calls and waits do not.
ImU32 title_colour(const Theme& theme, const Model& model, uint32_t index) {
  const Event& event = model.events[index];
  const bool coloured = event.is_task() || event.what() == Kind::phase;
  return coloured ? readable(event_colour(theme, model, index), theme.panel)
                  : theme.text;
}

}  // namespace

void draw_inspector(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  const uint32_t index = trace.state.event;
  const Event& event = model.events[index];
  Rect room = ui.card(area, "EVENT", kind_name(event.what()));
  room = {room.x + 13, room.y + 8, room.w - 26, room.h - 12};
  const Rect head = room.take_top(21);
  ui.text_cut(head.x, head.y, head.w, Type::mono, title_colour(t, model, index),
              display_name(model, event, app.settings.cpp_names));

  const std::vector<Fact> facts = facts_of(trace, index);
  const float row_high = area.h < 160 ? 16.0f : 18.0f;
  const Scroll scroll(ui, "facts", room, row_high * static_cast<float>(facts.size()), 0,
                      static_cast<int>(index), row_high);
  float widest = 0;  // of the names: the values get the rest
  for (const Fact& fact : facts) {
    widest = std::max(widest, ui.width(Type::small, fact.name) + 12);
  }
  const float name_width = std::min({88.0f, room.w * 0.38f, widest});
  float y = scroll.top();
  for (size_t i = 0; i < facts.size(); ++i, y += row_high) {
    if (!scroll.shows(y, row_high)) continue;
    const Fact& fact = facts[i];
    ui.text_cut(room.x, y + 1, name_width - 6, Type::small, t.dim, fact.name);
    ImU32 ink = t.text;
    if (fact.link != kNoEvent) {
      const Rect r{room.x + name_width, y, room.w - name_width - 8, row_high};
      ImGui::PushID(static_cast<int>(i));
      bool hovered = false;
      const bool inside = r.y >= room.y && r.bottom() <= room.bottom() + 2;
      if (inside && ui.clicked("link", r, &hovered)) {
        app.settings.transport.playing = false;
        app.go(at_event(model, fact.link));
      }
      ImGui::PopID();
      ink = hovered ? t.accent : t.code_call;
    }
    const float wide = room.w - name_width - 8;
    if (fact.link == kNoEvent && ui.width(Type::small, fact.value) > wide) {
      ImGui::PushID(static_cast<int>(i));
      bool hovered = false;
      ui.clicked("cut", {room.x, y, room.w - 8, row_high}, &hovered);
      ImGui::PopID();
      if (hovered) ui.tooltip(fact.name + ": " + fact.value);
    }
    ui.text_cut(room.x + name_width, y + 1, room.w - name_width - 8, Type::small, ink,
                fact.value);
  }
}

}  // namespace lockstep::gui
