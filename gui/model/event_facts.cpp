#include "gui/model/event_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gui/text/language.h"

namespace lockstep::gui {

namespace {

using tracer::Json;

constexpr int kSeveral = -2;               ///< more than one place
constexpr uint32_t kMostScanned = 20'000;  ///< events after the current one

/// Returns shape `which` of an op or call: "[8, 3, 32, 32]"; "" if absent or empty.
std::string shape_text(const Json& args, size_t which) {
  auto shapes = args.find(keys::shapes);
  if (shapes == args.end()) shapes = args.find("Input Dims");  // PyTorch's profiler
  if (shapes == args.end() || !shapes->is_array() || shapes->size() <= which) return "";
  std::string text;
  const Json& shape = (*shapes)[which];
  if (!shape.is_array() || shape.empty() || shape.size() > 6) return "";
  for (const Json& size : shape) {
    if (!size.is_number_integer()) return "";
    text += (text.empty() ? "[" : ", ") + size.dump();
  }
  return text + "]";
}

std::vector<int64_t> integers(const Json& args, const char* key) {
  std::vector<int64_t> result;
  const auto found = args.find(key);
  if (found == args.end() || !found->is_array()) return result;
  for (const Json& entry : *found) {
    if (!entry.is_number_integer()) return {};
    result.push_back(entry.get<int64_t>());
    if (result.back() < 0 || result.back() > INT32_MAX) return {};
  }
  return result;
}

int only(const std::map<int, int64_t>& ports) {
  return ports.size() == 1 ? ports.begin()->first : kSeveral;
}

double ratio(int64_t a, int64_t b) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

}  // namespace

Caused caused_by(const Model& model, const Event& cause) {
  Caused caused;
  caused.complete = cause.last - cause.order <= kMostScanned;
  if (!caused.complete) return caused;
  for (uint32_t place = cause.order + 1; place < cause.last; ++place) {
    const uint32_t index = model.program[place];
    const Event& event = model.events[index];
    if (event.what() == Kind::mark && caused.mark == kNoEvent) caused.mark = index;
    if (event.what() == Kind::sync) caused.waited += event.dur;
    if (!event.is_task()) continue;
    if (event.ts < caused.first) {
      caused.first = event.ts;
      caused.first_task = index;
    }
    caused.end = std::max(caused.end, event.end());
    const Event& first = model.events[caused.first_task];
    caused.one_device &=
        model.lanes[event.lane].device == model.lanes[first.lane].device;
    const Copy* copy = model.copy_of(index);
    if (copy == nullptr) {
      ++caused.kernels;
      continue;
    }
    if (caused.copies++ == 0) caused.first_copy = index;
    caused.bytes += copy->bytes;
    caused.into[copy->dst] += copy->bytes;
    caused.out_of[copy->src] += copy->bytes;
  }
  return caused;
}

EventFacts::EventFacts(const Model& model, const State& state, const Breakdown& step,
                       const Language& language)
    : model_(model),
      state_(state),
      step_(step),
      event_(model.events[state.event]),
      json_(json_of(model, event_)),
      args_(args_of(model, event_)),
      from_(kSeveral),
      to_(kSeveral),
      language_(language) {
  const uint32_t number = model.steps[state.step].event;
  if (number != kNoEvent) step_args_ = args_of(model, model.events[number]);
  chunks_ = integers(step_args_, keys::chunks);
  computes_ = model.has_device_times();
  add_common();
}

void EventFacts::add_common() {
  const Lane& lane = model_.lanes[event_.lane];
  facts_.text("name", name(), 60);
  if (computes_ || lane.is_host()) facts_.time("time", event_.dur);
  facts_.time("at", event_.ts);
  facts_.text("category", string_arg(json_, "cat"), 30);
  facts_.text("process", lane.process, 30);
  facts_.text("thread", lane.thread, 30);
  facts_.phrase("lane", say({"word/lane"}));
  facts_.text("shape", shape_text(args_, 0));
  facts_.text("shape2", shape_text(args_, 1));
  add_device(lane.device);
  add_rank();
  if (chunks_.size() < 2) return;
  facts_.number("chunks", static_cast<int64_t>(chunks_.size()));
  facts_.number("size", chunks_[0]);
  const bool even = chunks_.back() == chunks_[0];
  if (!even) facts_.number("rest", chunks_.back());
  facts_.phrase("sizes", say({even ? "" : "word/sizes/last", "word/sizes"}));
}

Caused EventFacts::add_caused() {
  Caused caused = caused_by(model_, event_);
  if (caused.copies > 0) {
    add_places(only(caused.out_of), only(caused.into));
    facts_.number("copies", caused.copies);
    facts_.bytes("bytes", caused.bytes);
  }
  if (caused.kernels > 0) facts_.number("kernels", caused.kernels);
  if (caused.first_task != kNoEvent) {
    add_device(model_.lanes[model_.events[caused.first_task].lane].device);
    if (computes_) facts_.time("behind", caused.end - event_.end());
  }
  facts_.time("waited", caused.waited);
  facts_.phrase("ahead", say({caused.one_device ? "ahead/one" : "", "ahead"}));
  return caused;
}

void EventFacts::add_later(const Caused& caused) {
  if (caused.first_task == kNoEvent || !computes_) return;
  facts_.time("delay", caused.first - event_.ts);
  facts_.time("run", model_.events[caused.first_task].dur);
  facts_.phrase("later", say({caused.copies > 1 && caused.kernels == 0 ? ""
                              : caused.kernels == 0                    ? "later/copy"
                              : caused.kernels == 1                    ? "later/kernel"
                                                    : "later/kernels"}));
}

void EventFacts::add_cost(const std::string& phase) {
  if (model_.ranks() > 1) return add_rank_cost(phase);
  int64_t forward = 0;
  for (const auto& [name, cost] : step_.phases) {
    if (name == phases::parallel_apply || (name == phases::forward && forward == 0)) {
      forward = cost.device;
    }
  }
  for (const auto& [name, cost] : step_.phases) {
    if (name != phase) continue;
    if (cost.on_device() && !computes_) return;
    facts_.share("share", part_of_step(cost.cost()));
    if (!cost.on_device()) return;
    facts_.time("cost", cost.device);
    // The ratio continues the sentence of the share.
    const bool said = part_of_step(cost.cost()) >= 0.01;
    if (said) facts_.times("ratio", ratio(cost.device, forward));
  }
}

void EventFacts::add_traffic(const std::string& why, bool from_one) {
  std::map<int, int64_t> into, out_of;
  int64_t bytes = 0;
  for (const PortBytes& port : step_.ports) {
    if (model_.strings[port.why] != why) continue;
    (port.out ? out_of : into)[port.device] += port.bytes;
    if (port.out) bytes += port.bytes;
  }
  if (bytes == 0) return;
  add_places(only(out_of), only(into));
  facts_.bytes("bytes", bytes);
  const auto& others = from_one ? into : out_of;
  facts_.number("others", static_cast<int64_t>(others.size()));
  facts_.phrase("other", place(others.begin()->first, "word/device", "word/host"));
  const int64_t each = others.begin()->second;
  if (std::all_of(others.begin(), others.end(),
                  [&](const auto& port) { return port.second == each; })) {
    facts_.bytes("each", each);
  }
}

void EventFacts::add_turns(const std::string& why, bool out) {
  if (!computes_) return;
  const Step& step = model_.steps[state_.step];
  const auto& events = model_.events;
  auto copy = std::lower_bound(
      model_.copies.begin(), model_.copies.end(), step.begin,
      [&](const Copy& c, int64_t ts) { return events[c.event].ts < ts; });
  std::set<int> ports;
  std::vector<std::pair<int64_t, int>> edges;  // +1 begins, -1 ends
  for (; copy != model_.copies.end() && events[copy->event].ts <= step.end; ++copy) {
    const Event& event = events[copy->event];
    const bool own = step.event == kNoEvent || event.step == step.number;
    if (!own || model_.strings[copy->why] != why) continue;
    ports.insert(out ? copy->src : copy->dst);
    edges.push_back({event.ts, 1});
    edges.push_back({event.end(), -1});
  }
  if (ports.size() != 1 || edges.size() < 4) return;
  std::sort(edges.begin(), edges.end());
  int at_once = 0, most = 0;
  for (const auto& [ts, change] : edges) most = std::max(most, at_once += change);
  facts_.number("moves", static_cast<int64_t>(edges.size() / 2));
  facts_.text("turns", most <= 1 ? "one after another"
                                 : fmt::format("up to {} at the same time", most));
}

std::string EventFacts::add_layer(uint32_t op, const Json& op_args) {
  const uint32_t forward = model_.event_of_id(int_arg(op_args, keys::fwd, -1));
  if (forward != kNoEvent) {
    const Event& event = model_.events[forward];
    facts_.text("forward", model_.name_of(event));
    facts_.times("ratio", ratio(int_arg(op_args, keys::flops),
                                int_arg(args_of(model_, event), keys::flops)));
    op = forward;
  }
  for (int i = 0; i < 64 && op != kNoEvent; ++i, op = model_.events[op].parent) {
    const Event& event = model_.events[op];
    if (event.what() != Kind::call) continue;
    const std::string& caller = model_.name_of(event);
    facts_.text("module", string_arg(args_of(model_, event), keys::module));
    return caller.substr(0, caller.find('.'));
  }
  return "";
}

int64_t EventFacts::parameter_bytes() const {
  const tracer::Json& meta = meta_of(model_);
  const auto found = meta.find(top::model);
  const bool described = found != meta.end() && found->is_object();
  return described ? int_arg(*found, top::parameter_bytes) : 0;
}

bool EventFacts::add_wrapped_part() {
  const int64_t whole = parameter_bytes();
  const int64_t wrapped = int_arg(step_args_, keys::wrapped_parameter_bytes, whole);
  if (wrapped <= 0 || wrapped >= whole) return false;
  facts_.bytes("whole", whole);
  return true;
}

bool EventFacts::add_chunk(const Copy& copy) {
  const std::vector<int64_t> shape = integers(args_, keys::shape);
  const auto index = static_cast<size_t>(copy.dst);
  if (copy.dst < 0 || index >= chunks_.size() || chunks_.size() < 2) return false;
  if (shape.empty() || shape[0] != chunks_[index]) return false;
  if (string_arg(args_, keys::tensor) != "images") return false;
  int64_t first = 0;
  for (size_t i = 0; i < index; ++i) first += chunks_[i];
  facts_.number("chunk", copy.dst);
  facts_.number("last_chunk", static_cast<int64_t>(chunks_.size()) - 1);
  facts_.phrase("rows", "[" + std::to_string(first) + ":" +
                            std::to_string(first + chunks_[index]) + "]");
  return true;
}

std::string EventFacts::add_group(const Copy& copy) {
  int64_t groups = 0, group = 0, before = 0;
  const auto same_step = [&](const Copy& other) {
    return model_.events[other.event].step == event_.step;
  };
  const Copy* first = &copy;
  while (first != model_.copies.data() && same_step(first[-1])) --first;
  if (&copy - first > kMostScanned) return "";
  const Copy* const end = model_.copies.data() + model_.copies.size();
  for (const Copy* other = first; other != end && same_step(*other); ++other) {
    if (other - first > kMostScanned) return "";
    if (other->why != copy.why || other->src != copy.src || other->dst != copy.dst) {
      continue;
    }
    ++groups;
    if (other == &copy) group = groups;
    if (group == 0) before += other->bytes;
  }
  if (groups > 1 && group > 0) {
    facts_.number("group", group);
    facts_.number("groups", groups);
  }
  const int64_t parameters =
      int_arg(step_args_, keys::wrapped_parameter_bytes, parameter_bytes());
  if (parameters <= 0) return "";
  if (before >= parameters) return "buffers";
  return before + copy.bytes <= parameters ? "parameters" : "";
}

std::string EventFacts::add_ring() {
  const int64_t step = int_arg(args_, keys::ring_step, -1), ranks = group_size();
  if (step < 0 || step > INT32_MAX) return "";
  facts_.number("ring_step", step + 1);
  if (ranks < 2 || step >= 2 * (ranks - 1)) return "";
  facts_.number("ring_steps", 2 * (ranks - 1));
  return step < ranks - 1 ? "sum" : "share";
}

void EventFacts::add_places(int from, int to) {
  from_ = from;
  to_ = to;
  if (from != kSeveral) {
    facts_.phrase("from", place(from, "word/device", "word/host"));
    facts_.phrase("From", place(from, "word/Device", "word/Host"));
  }
  if (to != kSeveral) {
    facts_.phrase("to", place(to, "word/device", "word/host"));
    facts_.phrase("To", place(to, "word/Device", "word/Host"));
  }
}

void EventFacts::add_device(int device) {
  if (device != kHostDevice) facts_.phrase("device", place(device, "word/device", ""));
}

std::string EventFacts::place(int device, const char* as_device, const char* as_host) {
  if (device < 0) return say({as_host});
  facts_.number("id", model_.devices[device].id);
  return say({as_device});
}

std::string EventFacts::phase_name() const {
  return state_.phase == kNoEvent ? "" : model_.name_of(model_.events[state_.phase]);
}

int64_t EventFacts::group_size() const {
  int64_t size = int_arg(args_, keys::group_size, -1);
  if (size < 0 && event_.parent != kNoEvent) {
    size = int_arg(args_of(model_, model_.events[event_.parent]), keys::group_size, -1);
  }
  return size > 0 && size < INT32_MAX ? size : -1;
}

double EventFacts::part_of_step(int64_t nanoseconds) const {
  return ratio(nanoseconds, step_.length);
}

bool EventFacts::is_complete() const { return meta_of(model_).contains(top::format); }

bool EventFacts::is_dp() const {
  return model_.meta_text(top::mode).starts_with("dp") && chunks_.size() > 1;
}

bool EventFacts::has_criterion() const {
  return model_.meta_text(top::mode) == "dp-criterion";
}

bool EventFacts::is_hybrid() const { return model_.meta_text(top::mode) == "hybrid"; }

bool EventFacts::has_servers() const { return model_.meta_text(top::mode) == "ps"; }

bool EventFacts::loss_on_each() const { return is_dp() && has_criterion(); }

bool EventFacts::loss_inside() const {
  const auto inside = step_args_.find(keys::loss_in_forward);
  return loss_on_each() && inside != step_args_.end() && *inside != false;
}

bool EventFacts::trains() const {
  return string_arg(step_args_, keys::kind) == values::train;
}

std::string EventFacts::say(std::initializer_list<std::string> keys) const {
  for (const std::string& key : keys) {
    std::string text = gui::say(language_, {key}, facts_);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace lockstep::gui
