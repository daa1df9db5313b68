// The summary in machine-readable form. Times are in seconds, sizes in bytes.
#include "base/units.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {

namespace {

std::string port_key(int64_t port) {
  return port == kHost ? "host" : std::to_string(port);
}

Json busy_json(const std::map<int64_t, int64_t>& busy) {
  Json json = Json::object();
  for (const auto& [device, time] : busy) json[port_key(device)] = seconds(time);
  return json;
}

/// {"phases", "phases_host", "phases_device", "busy"}: one key per phase in each.
void put_phases(Json& json, const std::vector<NamedPhase>& phases) {
  for (const char* key : {"phases", "phases_host", "phases_device", "busy"}) {
    json[key] = Json::object();
  }
  for (const auto& [name, cost] : phases) {
    json["phases"][name] = seconds(cost.cost());
    json["phases_host"][name] = seconds(cost.host);
    if (!cost.on_device()) continue;
    json["phases_device"][name] = seconds(cost.device);
    json["busy"][name] = busy_json(cost.busy);
  }
}

Json path_json(const std::vector<PathShare>& shares) {
  Json json = Json::object();
  for (const auto& [what, time] : shares) json[what] = seconds(time);
  return json;
}

void leave_out_waiting(Json& times) {
  for (const char* key : {"transfer", "wait", "exposed_wait"}) times[key] = nullptr;
}

Json ranks_json(const std::vector<MeanRank>& ranks) {
  Json list = Json::array();
  for (const auto& [rank, length, together] : ranks) {
    list.push_back({{"rank", rank},
                    {"mean_seconds", seconds(length)},
                    {"bytes", together.bytes},
                    {"seconds", seconds(together.took)},
                    {"transfer", seconds(together.transfer)},
                    {"wait", seconds(together.wait)},
                    {"behind_backward", seconds(together.backward)},
                    {"exposed", seconds(together.exposed)},
                    {"exposed_wait", seconds(together.exposed_wait)},
                    {"overlap", together.overlap()}});
    if (together.bytes == kNone) list.back()["bytes"] = nullptr;
    if (together.unseen) leave_out_waiting(list.back());
  }
  return list;
}

Json group_json(const StepGroup& group, bool imported) {
  Json json = {{"steps", Json::array()},
               {"mean_seconds", seconds(group.mean_length())}};
  for (const StepSummary& step : group.steps) json["steps"].push_back(step_json(step));
  put_phases(json, group.mean_phases());
  const std::vector<MeanRank> ranks = group.mean_ranks();
  if (ranks.size() > 1) json["ranks"] = ranks_json(ranks);
  if (imported) {
    json["mean_period"] = seconds(group.mean_period());
    json["mean_overhang"] = seconds(group.mean_overhang());
  }
  json["longest_path"] = path_json(group.mean_path());
  json["device_time"] = split_json(group.mean_split());
  json["utilisation"] = utilisation_json(group.utilisation);
  json["devices_computing"] = group.devices_computing();
  json["bytes_by_why"] = Json::object();
  for (const auto& [why, bytes] : group.bytes_by_why) json["bytes_by_why"][why] = bytes;
  json["ports"] = Json::object();
  for (const auto& [port, bytes] : group.ports) {
    json["ports"][port_key(port)] = {{"in", bytes.in}, {"out", bytes.out}};
  }
  return json;
}

Json recording_json(const std::vector<DeviceTimes>& devices) {
  Json list = Json::array();
  for (const DeviceTimes& time : devices) {
    list.push_back({{"rank", time.rank},
                    {"device", time.device},
                    {"seconds", seconds(time.recorded)},
                    {"computing", seconds(time.computing)},
                    {"communicating", seconds(time.communicating)},
                    {"both", seconds(time.both)},
                    {"memory", seconds(time.memory)},
                    {"idle", seconds(time.idle)},
                    {"kernels", time.kernels},
                    {"collectives", time.collectives},
                    {"copies", time.copies},
                    {"memsets", time.memsets}});
  }
  return list;
}

Json collectives_json(const StepSummary& step) {
  Json list = Json::array();
  for (const CollectiveTime& time : step.collectives) {
    list.push_back({{"rank", time.rank},
                    {"seq", time.seq},
                    {"what", time.what},
                    {"bytes", time.bytes},
                    {"seconds", seconds(time.took)},
                    {"transfer", seconds(time.transfer)},
                    {"wait", seconds(time.wait)},
                    {"behind_backward", seconds(time.backward)},
                    {"exposed", seconds(time.exposed)},
                    {"exposed_wait", seconds(time.exposed_wait)},
                    {"overlap", time.overlap()}});
    if (time.bytes == kNone) list.back()["bytes"] = nullptr;
    if (time.unseen) leave_out_waiting(list.back());
    if (time.bucket != kNone) list.back()["bucket"] = time.bucket;
  }
  return list;
}

}  // namespace

Json step_json(const StepSummary& step) {
  Json json = {
      {"step", step.step}, {"batch", step.batch}, {"seconds", seconds(step.length)}};
  if (step.warm_up) json["warm_up"] = true;
  put_phases(json, step.phases);
  if (step.rank_lengths.size() > 1) {
    for (const auto& [rank, length] : step.rank_lengths) {
      json["rank_seconds"][std::to_string(rank)] = seconds(length);
    }
  }
  if (!step.collectives.empty()) json["collectives"] = collectives_json(step);
  json["computing"] = busy_json(step.computing);
  json["queued"] = seconds(step.queued);
  json["kernel_wall"] = seconds(step.kernel_wall);
  json["kernel_cpu"] = seconds(step.kernel_cpu);
  json["longest_path_seconds"] = seconds(step.path);
  json["longest_path"] = path_json(step.path_shares);
  json["device_time"] = split_json(step.split);
  if (step.pipeline != nullptr) json["pipeline"] = pipeline_json(*step.pipeline);
  return json;
}

Json summary_json(const Summary& summary) {
  Json json = {{"mode", summary.mode},
               {"arch", summary.arch},
               {"clock", summary.clock},
               {"assumed", summary.assumed},
               {"devices", summary.devices},
               {"train", group_json(summary.train, summary.imported)},
               {"eval", group_json(summary.eval, summary.imported)}};
  if (!summary.emulated_devices.empty()) {
    json["emulated_devices"] = summary.emulated_devices;
  }
  if (summary.rank != kNone) {  // the file of one rank of several
    json["rank"] = summary.rank;
    json["world_size"] = summary.world_size;
  }
  if (!summary.cut.empty()) json["partial"] = summary.cut;
  if (!summary.failure.empty()) json["failure"] = summary.failure;
  if (summary.staleness.updates > 0) {
    json["shared_model"] = staleness_json(summary.staleness);
  }
  if (summary.imported) json["recording"] = recording_json(summary.recording);
  json["peak_memory"] = Json::object();
  for (const auto& [device, peak] : summary.memory) {
    json["peak_memory"][port_key(device)] = {{"total", peak.total},
                                             {"categories", peak.categories}};
  }
  if (const Recomputed& again = summary.recomputed; again.kernels > 0) {
    json["recomputed"] = {{"kernels", again.kernels},
                          {"time", seconds(again.time)},
                          {"time_of_all_kernels", seconds(again.time_of_all)}};
  }
  json["kernels"] = Json::array();
  for (const KernelTime& time : summary.kernels) {
    json["kernels"].push_back({{"impl", time.impl},
                               {"count", time.count},
                               {"wall", seconds(time.wall)},
                               {"cpu", seconds(time.cpu)}});
  }
  json["speedup_sentence"] = speedup_sentence(summary);
  json["sentence"] = limiting_sentence(summary);
  return json;
}

}  // namespace lockstep::tracer
