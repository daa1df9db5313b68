#include "tracer/analysis/hybrid_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "engine/plan/chunk.h"
#include "tracer/format/keys.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

constexpr int64_t kMostOfBatch = int64_t{1} << 40;
constexpr size_t kMostDevices = 1 << 10;

}  // namespace

HybridStep::HybridStep(const Step& of)
    : step(of),
      devices(of.event->args.find(keys::feature_devices).integers()),
      classifier(int_arg(of.event->args, keys::output_device, kNone)),
      parameters(int_arg(of.event->args, keys::wrapped_parameter_bytes, kNone)),
      buffers(int_arg(of.event->args, keys::wrapped_buffer_bytes, kNone)),
      sent(int_arg(of.event->args, keys::broadcast_bytes, kNone)),
      synced(of.event->args.find(keys::synced).is_true()) {}

bool HybridStep::stated() const {
  std::set<int64_t> all(devices.begin(), devices.end());
  all.insert(classifier);
  return !devices.empty() && devices.size() < kMostDevices && *all.begin() >= 0 &&
         all.size() == devices.size() + 1 && step.batch >= 1 &&
         step.batch < kMostOfBatch && step.input_bytes >= 0 && step.output_bytes >= 0 &&
         step.input_bytes % step.batch == 0 && step.output_bytes % step.batch == 0 &&
         parameters >= 0 && buffers >= 0 &&
         step.chunks ==
             plan::chunk_sizes(step.batch, static_cast<int64_t>(devices.size()));
}

namespace {

/// Returns whether the copy is part of every step's work on several devices.
bool is_in_ledger(const CopyFacts& copy) {
  return copy.why == reasons::activation || copy.why == reasons::activation_grad ||
         (copy.is_message && copy.why == reasons::all_reduce);
}

/// Returns the size of the element of the gradients; 4 if none were summed.
int64_t item_of(const Step& step) {
  for (const Event* task : step.tasks) {
    if (task->is(categories::collective) &&
        string_arg(task->args, keys::dtype) == "float64") {
      return 8;
    }
  }
  return 4;
}

}  // namespace

HybridLedger hybrid_ledger(const Trace& trace) {
  HybridLedger ledger;
  if (string_arg(trace.lockstep, top::mode) != kHybrid) return ledger;
  const int64_t all =
      int_arg(object_arg(trace.lockstep, top::model), top::parameter_bytes);
  std::map<int64_t, plan::PortBytes> sums;
  for (const Step& step : find_steps(trace)) {
    const HybridStep hybrid(step);
    if (!step.train || step.interrupted || !hybrid.synced || !hybrid.stated()) continue;
    if (ledger.steps++ == 0) {
      const int64_t item = item_of(step);
      const int devices = static_cast<int>(hybrid.devices.size()) + 1;
      const auto ddp = plan::ring_port_bytes(all / item, item, devices);
      for (const int64_t device : hybrid.devices) {
        ledger.rows.push_back({device, {}, ddp[ledger.rows.size()]});
      }
      ledger.rows.push_back({hybrid.classifier, {}, ddp.back()});
    }
    for (const Event* task : step.tasks) {
      if (!task->is(categories::copy)) continue;
      const CopyFacts copy = copy_facts(*task);
      if (!is_in_ledger(copy)) continue;
      plan::PortBytes& from = sums[copy.src];
      from.out = add_within_range(from.out, copy.known_bytes());
      plan::PortBytes& to = sums[copy.dst];
      to.in = add_within_range(to.in, copy.known_bytes());
    }
  }
  for (HybridLedger::Row& row : ledger.rows) {
    row.hybrid = {sums[row.device].in / ledger.steps,
                  sums[row.device].out / ledger.steps};
  }
  return ledger;
}

std::string hybrid_text(const HybridLedger& ledger) {
  if (ledger.rows.empty()) return {};
  std::string text = fmt::format("\n{:<47}{:>12}{:>12}{:>12}{:>12}\n",
                                 "between devices, per training step", "in", "out",
                                 "DDP's in", "DDP's out");
  int64_t sent = 0, sent_by_ddp = 0;
  for (const HybridLedger::Row& row : ledger.rows) {
    const bool last = &row == &ledger.rows.back();
    text += fmt::format(
        "  {:<45}{:>12}{:>12}{:>12}{:>12}\n",
        fmt::format("device {} ({})", row.device, last ? "classifier" : "features"),
        human_bytes(row.hybrid.in), human_bytes(row.hybrid.out),
        human_bytes(row.ddp.in), human_bytes(row.ddp.out));
    sent += row.hybrid.out;
    sent_by_ddp += row.ddp.out;
  }
  text += fmt::format("  {:<45}{:>12}{:>12}{:>12}{:>12}\n", "all", "",
                      human_bytes(sent), "", human_bytes(sent_by_ddp));
  return text +
         "  DDP's: computed, a ring all-reduce of all gradients among as many devices. "
         "Neither\n  includes images, labels, the weights sent once at the start, nor "
         "running statistics.\n";
}

Json hybrid_json(const HybridLedger& ledger) {
  Json ports = Json::array();
  for (const HybridLedger::Row& row : ledger.rows) {
    ports.push_back({{"device", row.device},
                     {"in", row.hybrid.in},
                     {"out", row.hybrid.out},
                     {"ddp_in", row.ddp.in},
                     {"ddp_out", row.ddp.out}});
  }
  return {{"steps", ledger.steps}, {"ports", ports}};
}

}  // namespace lockstep::tracer
