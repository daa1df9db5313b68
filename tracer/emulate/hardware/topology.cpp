#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <stdexcept>

#include "tracer/emulate/hardware/hardware.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

/// Of machine 1, `host` is `host@1`; devices are numbered through.
std::string on_machine(const std::string& name, int machine, int per_machine) {
  if (name.rfind("gpu", 0) == 0) {
    const int device = std::atoi(name.c_str() + 3);
    return fmt::format("gpu{}", machine * per_machine + device);
  }
  return machine == 0 ? name : fmt::format("{}@{}", name, machine);
}

}  // namespace

Topology::Topology(const Hardware& hardware, int devices)
    : hardware_(hardware), per_machine_(hardware.devices) {
  if (hardware.most_devices() != 0 && devices > hardware.most_devices()) {
    throw std::runtime_error(
        fmt::format("{} has {} devices, but the program has {}; fix: choose hardware "
                    "with more devices or with a network (emulate --list-hardware)",
                    hardware.name, hardware.devices, devices));
  }
  const int machines = std::max(1, (devices + hardware.devices - 1) / hardware.devices);
  for (int machine = 0; machine < machines; ++machine) {
    connect_machine(hardware, machine);
  }
}

const Path& Topology::path(int64_t src, int64_t dst) {
  const auto [found, is_new] = paths_.try_emplace({src, dst});
  if (!is_new) return found->second;
  const std::vector<const Edge*> edges = route(src, dst);
  if (edges.empty()) {
    const auto name = [](int64_t device) {
      return device == kHost ? "host" : fmt::format("gpu{}", device);
    };
    throw std::runtime_error(
        fmt::format("hardware {}: no wires lead from {} to {}; fix: connect them",
                    hardware_.name, name(src), name(dst)));
  }
  found->second = path_over(src == kHost ? host_of(dst) : device(src), edges);
  return found->second;
}

size_t Topology::host_of(int64_t device) const {
  return vertices_.at(
      on_machine("host", static_cast<int>(device) / per_machine_, per_machine_));
}

size_t Topology::device(int64_t device) const {
  return vertices_.at(fmt::format("gpu{}", device));
}

void Topology::connect_machine(const Hardware& hardware, int machine) {
  vertex(on_machine("host", machine, per_machine_));
  for (int device = 0; device < per_machine_; ++device) {
    vertex(fmt::format("gpu{}", machine * per_machine_ + device));
  }
  for (const Wire& wire : hardware.wires) {
    if (wire.from == wire.to) continue;
    connect(on_machine(wire.from, machine, per_machine_),
            on_machine(wire.to, machine, per_machine_), hardware.kinds[wire.kind]);
  }
  if (hardware.network.from.empty()) return;
  connect(on_machine(hardware.network.from, machine, per_machine_), "network",
          hardware.kinds[hardware.network.kind]);
}

size_t Topology::vertex(const std::string& name) {
  const auto [found, is_new] = vertices_.emplace(name, names_.size());
  if (is_new) {
    names_.push_back(name);
    edges_.emplace_back();
  }
  return found->second;
}

void Topology::connect(const std::string& from, const std::string& to,
                       const LinkKind& kind) {
  const size_t a = vertex(from), b = vertex(to);
  const auto there = static_cast<uint32_t>(segments_.size());
  const uint32_t back = kind.half_duplex ? there : there + 1;
  if (kind.half_duplex) {
    segments_.push_back({from + "-" + to, kind.gb_per_s});
  } else {
    segments_.push_back({from + ">" + to, kind.gb_per_s});
    segments_.push_back({to + ">" + from, kind.gb_per_s});
  }
  edges_[a].push_back({b, there, &kind});
  edges_[b].push_back({a, back, &kind});
}

Topology::Edges Topology::shortest(size_t from, size_t to, bool peers,
                                   double gb_per_s) const {
  std::vector<std::pair<size_t, const Edge*>> before(names_.size());
  std::deque<size_t> queue{from};
  while (!queue.empty() && before[to].second == nullptr) {
    const size_t at = queue.front();
    queue.pop_front();
    if (at != from && !forwards(at)) continue;
    for (const Edge& edge : edges_[at]) {
      const bool fits =
          edge.kind->gb_per_s >= gb_per_s && (edge.kind->peer_to_peer || !peers);
      if (!fits || edge.to == from || before[edge.to].second != nullptr) continue;
      before[edge.to] = {at, &edge};
      queue.push_back(edge.to);
    }
  }
  std::vector<const Edge*> edges;
  if (before[to].second == nullptr) return edges;
  for (size_t at = to; at != from; at = before[at].first) {
    edges.push_back(before[at].second);
  }
  std::reverse(edges.begin(), edges.end());
  return edges;
}

Topology::Edges Topology::widest(size_t from, size_t to, bool peers) const {
  std::set<double, std::greater<>> widths;
  for (const LinkKind& kind : hardware_.kinds) widths.insert(kind.gb_per_s);
  for (const double width : widths) {
    auto edges = shortest(from, to, peers, width);
    if (!edges.empty()) return edges;
  }
  return {};
}

Topology::Edges Topology::route(int64_t src, int64_t dst) const {
  if (src == kHost) return widest(host_of(dst), device(dst), false);
  if (dst == kHost) return widest(device(src), host_of(src), false);
  auto direct = widest(device(src), device(dst), true);
  return direct.empty() ? bounced(src, dst) : direct;
}

Topology::Edges Topology::bounced(int64_t src, int64_t dst) const {
  std::vector<const Edge*> edges = widest(device(src), host_of(src), false);
  const auto rest = widest(host_of(dst), device(dst), false);
  if (edges.empty() || rest.empty()) return {};
  if (host_of(src) != host_of(dst)) {
    const auto between = widest(host_of(src), host_of(dst), false);
    if (between.empty()) return {};
    edges.insert(edges.end(), between.begin(), between.end());
  }
  edges.insert(edges.end(), rest.begin(), rest.end());
  return edges;
}

Path Topology::path_over(size_t from, const Edges& edges) const {
  Path path;
  path.via = names_[from];
  double narrowest = std::numeric_limits<double>::infinity();
  for (const Edge* edge : edges) {
    path.segments.push_back(edge->segment);
    path.via += ">" + names_[edge->to];
    path.latency_us += edge->kind->latency_us;
    if (edge->kind->gb_per_s >= narrowest) continue;
    narrowest = edge->kind->gb_per_s;
    path.link_class = edge->kind->link_class;
  }
  return path;
}

std::vector<double> fair_rates(const std::vector<const Path*>& flows,
                               const std::vector<Segment>& segments) {
  struct Use {
    double left = 0;
    int flows = 0;
  };
  std::vector<Use> uses(segments.size());
  std::vector<uint32_t> used;
  for (const Path* flow : flows) {
    for (const uint32_t segment : flow->segments) {
      if (uses[segment].flows++ == 0) {
        uses[segment].left = segments[segment].gb_per_s;
        used.push_back(segment);
      }
    }
  }
  std::vector<double> rates(flows.size(), -1);
  size_t open = flows.size();
  while (open > 0) {
    double share = std::numeric_limits<double>::infinity();
    for (const uint32_t segment : used) {
      const Use& use = uses[segment];
      if (use.flows > 0) share = std::min(share, use.left / use.flows);
    }
    const double limit = share * (1 + 1e-9);
    std::vector<size_t> full;  // flows through a segment that gives no more
    for (size_t i = 0; i < flows.size(); ++i) {
      if (rates[i] >= 0) continue;
      const auto& path = flows[i]->segments;
      const bool limited = std::any_of(path.begin(), path.end(), [&](uint32_t segment) {
        return uses[segment].left <= limit * uses[segment].flows;
      });
      if (limited) full.push_back(i);
    }
    for (const size_t i : full) {
      rates[i] = share;
      --open;
      for (const uint32_t segment : flows[i]->segments) {
        uses[segment].left -= share;
        --uses[segment].flows;
      }
    }
  }
  return rates;
}

}  // namespace lockstep::tracer
