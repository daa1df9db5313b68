#include "tracer/analysis/call_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/units.h"
#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

constexpr int kMaxDepth = 128;  ///< the tree is traversed recursively

std::string place(std::string_view file, int64_t line) {
  return file.empty() ? std::string() : fmt::format("{}:{}", file, line);
}

/// The calls in event order, each of which refers to its caller by position.
class TreeBuilder {
 public:
  TreeBuilder(const Trace& trace, int64_t step) : lanes_(trace) {
    for (const Event& event : trace.events) {
      if (event.ph == 'X' && event.step == step && !is_task(event)) enter(event);
    }
  }

  /// Puts the program's main thread first: a DataLoader's workers may begin before it.
  std::vector<Call> take() {
    std::stable_partition(roots_.begin(), roots_.end(),
                          [this](size_t root) { return nodes_[root].thread.empty(); });
    std::vector<Call> roots;
    for (const size_t root : roots_) append(roots, build(root));
    return roots;
  }

 private:
  static constexpr size_t kNobody = SIZE_MAX;

  struct Node {
    const Event* event;
    std::string thread;
    int depth;
    std::vector<size_t> callees;
  };
  struct Open {
    const Event* event;
    size_t call;  ///< innermost enclosing call, or the event itself
  };

  void enter(const Event& event) {
    auto& stack = open_[lane_of(event)];
    while (!stack.empty() && stack.back().event->end() <= event.ts) stack.pop_back();
    size_t caller = stack.empty() ? kNobody : stack.back().call;
    const bool foreign = stack.empty() && event.parent != kNone;
    if (foreign) {
      const auto found = innermost_.find(event.parent);
      if (found != innermost_.end()) caller = found->second;
    }
    if (event.is(categories::call)) caller = add(event, caller);
    stack.push_back({&event, caller});
    innermost_.emplace(event.id, caller);
  }

  size_t add(const Event& event, size_t caller) {
    const int depth = caller == kNobody ? 0 : nodes_[caller].depth + 1;
    if (depth > kMaxDepth) return caller;
    const size_t node = nodes_.size();
    const std::string thread = lanes_.of(event).thread;
    const bool moved = caller == kNobody
                           ? thread != "main"
                           : lane_of(*nodes_[caller].event) != lane_of(event);
    nodes_.push_back({&event, moved ? thread : "", depth, {}});
    (caller == kNobody ? roots_ : nodes_[caller].callees).push_back(node);
    return node;
  }

  Call build(size_t index) const {
    const Node& node = nodes_[index];
    const CallFacts facts = call_facts(*node.event);
    Call call;
    call.name = node.event->name;
    call.site = place(facts.file, facts.line);
    call.definition = place(facts.def_file, facts.def_line);
    call.first_module = call.last_module = facts.module;
    call.thread = call.last_thread = node.thread;
    call.time = node.event->dur;
    call.event = node.event->id;
    for (const size_t callee : node.callees) append(call.callees, build(callee));
    return call;
  }

  static bool alike(const Call& a, const Call& b) {
    if (a.name != b.name || a.definition != b.definition ||
        a.callees.size() != b.callees.size()) {
      return false;
    }
    for (size_t i = 0; i < a.callees.size(); ++i) {
      if (a.callees[i].count != b.callees[i].count) return false;
      if (!alike(a.callees[i], b.callees[i])) return false;
    }
    return true;
  }

  static void append(std::vector<Call>& calls, Call call) {
    if (calls.empty() || !alike(calls.back(), call)) {
      calls.push_back(std::move(call));
      return;
    }
    Call& last = calls.back();
    last.count += call.count;
    const bool same_thread = !last.parallel() && last.thread == call.thread;
    if (same_thread) last.time = add_within_range(last.time, call.time);
    // From the lowest to the highest name, regardless of the order of the threads.
    const auto lower = [](const std::string& a, const std::string& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    };
    last.thread = std::min(last.thread, call.thread, lower);
    last.last_thread = std::max(last.last_thread, call.last_thread, lower);
    last.last_module = call.last_module;
  }

  const Lanes lanes_;
  std::vector<Node> nodes_;
  std::vector<size_t> roots_;
  LaneMap<std::vector<Open>> open_;
  std::unordered_map<int64_t, size_t> innermost_;  ///< event id → innermost call
};

std::string modules(const Call& call) {
  if (call.first_module == call.last_module) return call.first_module;
  return fmt::format("{} … {}", call.first_module, call.last_module);
}

/// Replicas run at the same time, so the sum of their times has no meaning.
std::string threads(const Call& call) {
  if (!call.parallel()) return call.thread;
  return fmt::format("{} … {}: {} in parallel, time of the first", call.thread,
                     call.last_thread, call.count);
}

std::string places(const Call& call) {
  if (call.site.empty() || call.definition.empty()) return call.site + call.definition;
  return fmt::format("{} → {}", call.site, call.definition);
}

void write(const std::vector<Call>& calls, size_t depth, std::string& text) {
  for (const Call& call : calls) {
    std::string line = std::string(2 * depth, ' ') + call.name;
    if (call.count > 1 && !call.parallel()) line += fmt::format(" ×{}", call.count);
    if (!call.first_module.empty()) line += fmt::format("  {}", modules(call));
    if (!call.thread.empty()) line += fmt::format("  [{}]", threads(call));
    text +=
        fmt::format("{:<58} {:>9}  {}\n", line, human_time(call.time), places(call));
    write(call.callees, depth + 1, text);
  }
}

}  // namespace

std::vector<Call> call_tree(const Trace& trace, int64_t step) {
  return TreeBuilder(trace, step).take();
}

std::string call_tree_text(const std::vector<Call>& calls) {
  std::string text;
  write(calls, 0, text);
  if (text.empty()) return "no calls were recorded in this step\n";
  return fmt::format("{:<58} {:>9}  {}\n",
                     "call (×n: n similar calls; the first is shown)", "host time",
                     "called at → defined at") +
         text;
}

Json call_tree_json(const std::vector<Call>& calls) {
  Json json = Json::array();
  for (const Call& call : calls) {
    json.push_back({{"name", call.name},
                    {"count", call.count},
                    {"module", modules(call)},
                    {"site", call.site},
                    {"definition", call.definition},
                    {"thread", call.thread},
                    {"last_thread", call.last_thread},
                    {"parallel", call.parallel()},
                    {"seconds", seconds(call.time)},
                    {"event", call.event},
                    {"callees", call_tree_json(call.callees)}});
  }
  return json;
}

}  // namespace lockstep::tracer
