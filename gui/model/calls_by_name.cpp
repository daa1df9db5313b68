#include <algorithm>
#include <map>
#include <utility>

#include "gui/model/breakdown.h"

namespace lockstep::gui {

namespace {

constexpr uint32_t kMostEvents = 200'000;
constexpr uint32_t kNoNode = UINT32_MAX;

struct Node {
  CallEntry entry;
  std::vector<uint32_t> children;
};

void list(const std::vector<Node>& nodes, uint32_t node, int depth,
          std::vector<CallEntry>& entries) {
  const size_t place = entries.size();
  entries.push_back(nodes[node].entry);
  entries.back().depth = depth;
  if (depth < 100) {
    for (const uint32_t child : nodes[node].children) {
      list(nodes, child, depth + 1, entries);
    }
  }
  entries[place].last = static_cast<uint32_t>(entries.size());
}

}  // namespace

std::vector<CallEntry> calls_by_name(const Model& model, size_t number, int rank) {
  const Step& step = model.steps[number];
  uint32_t begin = 0, end = static_cast<uint32_t>(model.program.size());
  if (const uint32_t own = step.event_of(rank); own != kNoEvent) {
    begin = model.events[own].order;
    end = model.events[own].last;
  }
  end = std::min(end, begin + kMostEvents);
  std::vector<Node> nodes;
  std::vector<uint32_t> roots;
  std::vector<uint32_t> node_at(end - begin, kNoNode);      // by place
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;  // (parent, name) → node
  for (uint32_t place = begin; place < end; ++place) {
    const uint32_t index = model.program[place];
    const Event& event = model.events[index];
    uint32_t parent = kNoNode;
    if (event.parent != kNoEvent && model.events[event.parent].order >= begin) {
      parent = node_at[model.events[event.parent].order - begin];
    }
    if (event.what() == Kind::mark) {
      node_at[place - begin] = parent;
      continue;
    }
    const auto [found, fresh] =
        known.try_emplace({parent, event.name}, static_cast<uint32_t>(nodes.size()));
    if (fresh) {
      Node node;
      node.entry.name = event.name;
      node.entry.first = index;
      node.entry.kind = event.what();
      (parent == kNoNode ? roots : nodes[parent].children).push_back(found->second);
      nodes.push_back(std::move(node));
    }
    ++nodes[found->second].entry.count;
    nodes[found->second].entry.time += event.dur;
    node_at[place - begin] = found->second;
  }
  std::vector<CallEntry> entries;
  entries.reserve(nodes.size());
  for (const uint32_t root : roots) list(nodes, root, 0, entries);
  return entries;
}

}  // namespace lockstep::gui
