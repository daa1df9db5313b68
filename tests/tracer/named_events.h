// Events of a fixture, addressed by names instead of ids.
//
//   "Scatter"                         the only host event of that name
//   "backward/AddmmBackward0#2"       the second of that name inside backward
//   "Scatter/scatter images@cpu:1"    the task of Scatter on device cpu:1
//   "rank 1/step 0/forward"           one of several ranks
//
// A path lists names from the outermost to the innermost and may omit levels. A name
// without `@` is a host event. `#2` selects the second match in program order; an event
// inside another one of the same name does not match.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tracer/golden.h"

namespace lockstep::tracer::testing {

/// The call tree of a fixture. Each event has a key: its id in a Trace, its index in
/// the viewer's Model.
class NamedEvents {
 public:
  /// Adds an event below the node `parent` (0: the top) and returns its node. Must be
  /// called in program order.
  size_t add(size_t parent, std::string name, int64_t key, std::string thread = "") {
    nodes_.push_back({std::move(name), std::move(thread), parent, key, {}});
    nodes_[parent].children.push_back(nodes_.size() - 1);
    return nodes_.size() - 1;
  }

  /// Returns the key of the event with this path. Throws std::out_of_range with the
  /// whole tree if there is no such event, or more than one.
  int64_t operator[](std::string_view path) const {
    std::vector<size_t> found = find(path, &NamedEvents::children);
    if (found.size() != 1) found = find(path, &NamedEvents::outermost);
    if (found.size() == 1) return nodes_[found[0]].key;
    std::string message = "'" + std::string(path) + "' names ";
    message += found.empty() ? "no event" : "several events: ";
    for (size_t i = 0; i < found.size(); ++i) {
      message += (i == 0 ? "" : ", ") + full_path(found[i]);
    }
    throw std::out_of_range(message + ". The fixture's events are\n" + tree());
  }

  /// Returns the full path of an event: "step 0/forward/Scatter".
  std::string path_of(int64_t key) const {
    for (size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i].key == key) return full_path(i);
    }
    return "no event";
  }

  /// Returns the event's own name, as in its line of the tree: "Scatter".
  std::string name_of(int64_t key) const {
    const std::string path = path_of(key);
    return path.substr(path.rfind('/') + 1);
  }

  /// Returns one line per event, in program order, indented by depth. A thread other
  /// than the caller's is shown in brackets.
  std::string tree() const {
    std::string text;
    for (const size_t top : nodes_[0].children) append(top, 0, text);
    return text;
  }

  /// Returns the keys of all events in program order.
  std::vector<int64_t> keys() const {
    std::vector<int64_t> keys;
    for (const Node& node : nodes_) {
      if (node.key != kGroup) keys.push_back(node.key);
    }
    return keys;
  }

  static constexpr int64_t kGroup = INT64_MIN;  ///< the key of "rank 0", not an event

 private:
  struct Node {
    std::string name, thread;
    size_t parent = 0;
    int64_t key = kGroup;
    std::vector<size_t> children;
  };

  /// The nodes of this name directly below a node.
  std::vector<size_t> children(size_t node, std::string_view name) const {
    std::vector<size_t> found;
    for (const size_t child : nodes_[node].children) {
      if (nodes_[child].name == name) found.push_back(child);
    }
    return found;
  }

  /// The outermost nodes of this name anywhere below a node.
  std::vector<size_t> outermost(size_t node, std::string_view name) const {
    std::vector<size_t> found;
    for (const size_t child : nodes_[node].children) {
      const bool matches = nodes_[child].name == name;
      const auto inside = matches ? std::vector{child} : outermost(child, name);
      found.insert(found.end(), inside.begin(), inside.end());
    }
    return found;
  }

  using Search = std::vector<size_t> (NamedEvents::*)(size_t, std::string_view) const;
  std::vector<size_t> find(std::string_view path, Search search) const {
    std::vector<size_t> found = {0};
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      std::string_view name = path.substr(begin, end - begin);
      begin = end + 1;
      size_t number = 0;  // 0: all
      if (const size_t hash = name.rfind('#'); hash != std::string_view::npos) {
        number = std::stoul(std::string(name.substr(hash + 1)));
        name = name.substr(0, hash);
      }
      std::set<size_t> inside;
      for (const size_t outer : found) {
        for (const size_t node : (this->*search)(outer, name)) inside.insert(node);
      }
      found.assign(inside.begin(), inside.end());
      if (number > found.size()) return {};
      if (number > 0) found = {found[number - 1]};
    }
    return found;
  }

  /// The name, with its number if the caller has several events of that name.
  std::string label(size_t node) const {
    size_t before = 0, count = 0;
    for (const size_t sibling : nodes_[nodes_[node].parent].children) {
      if (nodes_[sibling].name != nodes_[node].name) continue;
      ++count;
      if (sibling <= node) ++before;
    }
    return nodes_[node].name + (count > 1 ? "#" + std::to_string(before) : "");
  }

  std::string full_path(size_t node) const {
    const size_t parent = nodes_[node].parent;
    return (parent == 0 ? "" : full_path(parent) + "/") + label(node);
  }

  void append(size_t node, size_t depth, std::string& text) const {
    const std::string& thread = nodes_[node].thread;
    text += std::string(2 * depth, ' ') + label(node);
    if (!thread.empty() && thread != nodes_[nodes_[node].parent].thread && depth > 0 &&
        !nodes_[nodes_[node].parent].thread.empty()) {
      text += "  [" + thread + "]";
    }
    text += '\n';
    for (const size_t child : nodes_[node].children) append(child, depth + 1, text);
  }

  std::vector<Node> nodes_ = {{}};
};

/// Returns the comment at the beginning of a test's source without its slashes.
inline std::string header_comment(const std::string& file) {
  std::istringstream source(slurp(fs::path(LOCKSTEP_SOURCE_DIR) / file));
  std::string text;
  for (std::string line; std::getline(source, line) && line.starts_with("//");) {
    text += line.substr(std::min<size_t>(line.size(), 3)) + '\n';
  }
  return text;
}

/// Expects that the header of `file` shows this tree, indented by two spaces.
inline void expect_header_shows(const std::string& file, const NamedEvents& events) {
  std::istringstream tree(events.tree());
  std::string expected;
  for (std::string line; std::getline(tree, line);) expected += "  " + line + '\n';
  if (header_comment(file).find(expected) == std::string::npos) {
    ADD_FAILURE() << "the header of " << file
                  << " must show the events of its fixture:\n"
                  << expected;
  }
}

}  // namespace lockstep::tracer::testing
