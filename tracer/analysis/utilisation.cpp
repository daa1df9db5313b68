#include "tracer/analysis/utilisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/units.h"
#include "tracer/analysis/spans.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

/// Returns true if the names of all devices begin with one of `types`.
bool all_devices_are(const Trace& trace, const std::vector<std::string>& types) {
  const auto devices = trace.lockstep.find(top::devices);
  if (devices == trace.lockstep.end() || !devices->is_array() || devices->empty()) {
    return false;
  }
  return std::all_of(devices->begin(), devices->end(), [&](const Json& device) {
    const std::string name = string_arg(device, keys::name);
    return std::any_of(types.begin(), types.end(), [&](const std::string& type) {
      return name.rfind(type, 0) == 0;
    });
  });
}

class UtilisationMeter {
 public:
  UtilisationMeter(const Trace& trace, const std::vector<const Step*>& steps)
      : trace_(trace), steps_(steps) {
    for (const Step* step : steps) {
      length_ += static_cast<double>(step->length());
      const auto ranks = static_cast<double>(step->rank_lengths.size());
      ranks_ = std::max(ranks_, ranks);
    }
  }

  Utilisation measure() const {
    Utilisation use;
    if (length_ <= 0 || all_devices_are(trace_, {"null"})) return use;
    use.data = data();
    take_workers(use);
    use.cores = cores();
    use.port = busiest_port();
    return use;
  }

 private:
  bool imported() const { return trace_.lockstep.contains(top::imported); }

  std::optional<double> data() const {
    double waited = 0;
    bool any = false;
    for (const Step* step : steps_) {
      for (const Event* phase : step->phases) {
        if (phase->name != phases::data) continue;
        any = true;
        waited += static_cast<double>(phase->dur);
      }
    }
    return any ? std::optional(waited / (length_ * ranks_)) : std::nullopt;
  }

  /// Each step takes a batch for each rank. If no more batches were fetched than there
  /// are workers in the trace, other workers may be missing from it.
  void take_workers(Utilisation& use) const {
    std::set<std::pair<int64_t, int64_t>> workers;
    double fetched = 0, time = 0;
    for (const Event& event : trace_.events) {
      if (event.ph != 'X' || !runs_ahead(event)) continue;
      workers.insert({event.pid, event.tid});
      time += static_cast<double>(event.dur);
      ++fetched;
    }
    const auto count = static_cast<double>(workers.size());
    if (workers.empty() || fetched <= count) return;
    const double batches = static_cast<double>(steps_.size()) * ranks_;
    use.worker_count = static_cast<int64_t>(workers.size());
    use.workers = time / fetched * batches / (count * length_);
  }

  std::optional<double> cores() const {
    const bool measured = string_arg(trace_.lockstep, top::clock) == values::measured;
    if (!measured || imported() || !all_devices_are(trace_, {"cpu", "reference"})) {
      return std::nullopt;
    }
    double used = 0;
    bool any = false;
    for (const Step* step : steps_) {
      for (const Event* task : step->tasks) {
        if (!task->is(categories::kernel) || !task->args.contains(keys::cpu_us)) {
          continue;
        }
        any = true;
        used += static_cast<double>(kernel_facts(*task).cpu);
      }
    }
    return any ? std::optional(used / length_) : std::nullopt;
  }

  /// Returns true if messages of a collective are missing, or only modelled.
  bool lacks_messages() const {
    std::set<std::pair<std::string_view, int64_t>> collectives, with_messages;
    for (const Step* step : steps_) {
      for (const Event* task : step->tasks) {
        if (task->is(categories::collective)) {
          const CollectiveFacts facts = collective_facts(*task);
          if (facts.group_size != 1) collectives.insert({facts.group, facts.seq});
        } else if (task->is(categories::copy)) {
          const CopyFacts facts = copy_facts(*task);
          if (facts.modelled) return true;
          if (facts.is_message) with_messages.insert({facts.group, facts.seq});
        }
      }
    }
    return collectives != with_messages;
  }

  std::optional<Utilisation::BusiestPort> busiest_port() const {
    const auto info = trace_.other.find(top::distributed);
    const bool of_one_rank = info != trace_.other.end() &&
                             int_arg(*info, top::world_size, 1) > 1 &&
                             info->contains(top::rank);
    if (of_one_rank || lacks_messages()) return std::nullopt;
    std::map<std::pair<int64_t, bool>, Spans> ports;  // by device and direction
    for (const Step* step : steps_) {
      for (const Event* task : step->tasks) {
        if (!task->is(categories::copy)) continue;
        const CopyFacts copy = copy_facts(*task);
        const int64_t begin = std::max(task->ts, step->begin);
        const int64_t end = std::min(task->end(), step->last_end);
        if (copy.src >= kHost) ports[{copy.src, true}].add(begin, end);
        if (copy.dst >= kHost) ports[{copy.dst, false}].add(begin, end);
      }
    }
    Utilisation::BusiestPort busiest;
    for (const auto& [port, spans] : ports) {
      const double share = static_cast<double>(spans.covered()) / length_;
      const bool names_device = busiest.device == kHost && share == busiest.share;
      if (share > busiest.share || names_device) {
        busiest = {share, port.first, port.second};
      }
    }
    return busiest;
  }

  const Trace& trace_;
  const std::vector<const Step*>& steps_;
  double length_ = 0, ranks_ = 1;  ///< ns, of all steps; ranks in a step
};

std::string share_or_unknown(const std::optional<double>& share) {
  return share ? percent(*share) : "unknown";
}

std::string port_text(const Utilisation& use) {
  if (!use.port) return "busiest port unknown";
  if (use.port->share == 0) return "no copies";
  const std::string port =
      use.port->device == kHost ? "host" : fmt::format("dev {}", use.port->device);
  return fmt::format("busiest port: {} {} {}", port, use.port->out ? "out" : "in",
                     percent(use.port->share));
}

}  // namespace

Utilisation measure_utilisation(const Trace& trace,
                                const std::vector<const Step*>& steps) {
  return UtilisationMeter(trace, steps).measure();
}

std::string utilisation_text(const Utilisation& use) {
  const std::string workers = use.worker_count == 0
                                  ? "workers"
                                  : fmt::format("{} worker{}", use.worker_count,
                                                use.worker_count == 1 ? "" : "s");
  return fmt::format("  waiting for data {} ({} {}) · cores busy {} · {}\n",
                     share_or_unknown(use.data), workers, share_or_unknown(use.workers),
                     use.cores ? fmt::format("{:.1f}", *use.cores) : "unknown",
                     port_text(use));
}

Json utilisation_json(const Utilisation& use) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json port;
  if (use.port && use.port->share > 0) {
    port = {{"device", use.port->device},
            {"direction", use.port->out ? "out" : "in"},
            {"share", use.port->share}};
  } else if (use.port) {
    port = {{"share", 0}};
  }
  return {{"data", or_null(use.data)},
          {"workers", or_null(use.workers)},
          {"cores", or_null(use.cores)},
          {"port", port}};
}

}  // namespace lockstep::tracer
