// Writes one file per rank, or none at all. kineto_events() provides the events.
#include "tracer/kineto/kineto.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <list>
#include <set>
#include <stdexcept>

#include "base/file.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".pt.trace.json";
constexpr int64_t kMaxRank = 65'535;

std::string as_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string line_of(const Event& event) {
  std::string line = fmt::format(R"({{"ph": "{}")", event.ph);
  const auto add = [&](fmt::string_view format, const auto&... values) {
    fmt::vformat_to(std::back_inserter(line), format, fmt::make_format_args(values...));
  };
  if (!event.cat.empty()) add(R"(, "cat": {})", as_text(event.cat.str()));
  add(R"(, "name": {}, "pid": {}, "tid": {}, "ts": {})", as_text(event.name.str()),
      event.pid, event.tid, format_microseconds(event.ts));
  if (event.ph == 'X') add(R"(, "dur": {})", format_microseconds(event.dur));
  if (event.ph == 'i') line += R"(, "s": "t")";
  if (event.ph == 's' || event.ph == 'f') add(R"(, "id": {})", event.id);
  if (event.ph == 'f') line += R"(, "bp": "e")";
  if (!event.args.empty()) add(R"(, "args": {})", as_text(event.args.json()));
  return line + "}";
}

std::set<int64_t> ranks_of(const Trace& trace, const Lanes& lanes) {
  std::set<int64_t> ranks;
  for (const Event& event : trace.events) {
    if (event.ph != 'X') continue;
    const int64_t rank = lanes.of(event).rank;
    if (rank < 0 || rank > kMaxRank) {
      throw std::runtime_error(
          fmt::format("names rank {}: only 0 to {} can be exported", rank, kMaxRank));
    }
    ranks.insert(rank);
  }
  return ranks;
}

/// Follows PyTorch's form. HTA searches for the text `"rank": R`,
/// including the space, and uses the first match in the file.
Json distributed_info(const Trace& trace, int64_t rank) {
  const Json& ours = object_arg(trace.other, top::distributed);
  const int64_t size = int_arg(ours, "world_size", 1);
  Json ranks = Json::array();
  for (int64_t i = 0; i < std::min<int64_t>(size, 65'536); ++i) ranks.push_back(i);
  Json group = {{"pg_name", "0"},
                {"pg_desc", "default_pg"},
                {"backend_config", "cuda:nccl"},
                {"pg_size", size},
                {"ranks", ranks}};
  return {{"backend", "nccl"},
          {"rank", rank},
          {"world_size", size},
          {"pg_count", 1},
          {"pg_config", Json::array({group})}};
}

/// Properties that a virtual device does not have are 0.
Json device_properties(const Trace& trace) {
  Json list = Json::array();
  const auto devices = trace.lockstep.find(top::devices);
  if (devices == trace.lockstep.end() || !devices->is_array()) return list;
  for (const Json& device : *devices) {
    list.push_back({{"id", int_arg(device, "id")},
                    {"name", "lockstep virtual device " + string_arg(device, "name")},
                    {"totalGlobalMem", 0},
                    {"computeMajor", 0},
                    {"computeMinor", 0},
                    {"maxThreadsPerBlock", 1},
                    {"maxThreadsPerMultiprocessor", 1},
                    {"regsPerBlock", 0},
                    {"warpSize", 1},
                    {"sharedMemPerBlock", 0},
                    {"numSms", 1}});
  }
  return list;
}

/// What readers must know if they take the file for one written by a profiler.
Json about(const Trace& trace) {
  const Json& ours = object_arg(trace.other, top::distributed);
  return {
      {"exported", "kineto"},
      {"clock", string_arg(trace.lockstep, top::clock)},
      {"run",
       {{"mode", string_arg(trace.lockstep, top::mode)},
        {"arch", string_arg(trace.lockstep, top::arch)},
        {"backend", string_arg(ours, "backend")},
        {"command", string_arg(trace.lockstep, top::command)}}},
      {"recorded",
       "ts and dur of steps, annotations, calls, operators, kernels, copies and "
       "collectives; bytes, shapes, types; fwdbwd; which operator launched what"},
      {"translated",
       {"virtual devices appear as GPUs; neither CUPTI nor CUDA was involved",
        "kernels are named OPERATION [IMPLEMENTATION]; calls have C++ files and lines",
        "collectives are named like NCCL kernels, regardless of the backend; their "
        "messages are left out",
        "streams: 7 compute, 13 copies to the device, 14 copies from it, 20 "
        "collectives",
        "the data and optimizer phases are named as torch.profiler annotates them"}},
      {"not_measured",
       {"cudaLaunchKernel and cudaMemcpyAsync: spread evenly over their operator's "
        "time, at most 1 us long",
        "queued, registers per thread, shared memory, blocks and warps per SM, grid, "
        "block, occupancy, the values in deviceProperties: placeholders",
        "memory bandwidth (GB/s): bytes divided by dur"}}};
}

/// Rejects a folder with the ranks of two runs, which would be read as one run.
void refuse_strangers(const std::string& folder, const std::set<std::string>& ours) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.find(kEnding) == name.npos || ours.contains(name)) continue;
    if (name.find(".tmp") != name.npos) continue;
    throw std::runtime_error(
        fmt::format("{} already contains {}, which this export would not replace; fix: "
                    "name an empty folder",
                    folder, name));
  }
}

void write_rank(const Trace& trace, int64_t rank, const std::string& name,
                AtomicFile& file) {
  const auto put = [&](const char* key, const Json& value) {
    file.write(fmt::format("\"{}\": {},\n", key, as_text(value, 1)));
  };
  file.write("{\n\"schemaVersion\": 1,\n");
  put("distributedInfo", distributed_info(trace, rank));
  put("deviceProperties", device_properties(trace));
  put("lockstep", about(trace));
  file.write("\"record_shapes\": 1,\n\"with_stack\": 1,\n\"with_modules\": 1,\n");
  file.write("\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n");
  file.write("\"traceEvents\": [");
  const char* before = "\n";
  for (const Event& event : kineto_events(trace, rank)) {
    file.write(before);
    file.write(line_of(event));
    before = ",\n";
  }
  file.write(fmt::format("\n],\n\"traceName\": {}\n}}\n", as_text(name)));
}

}  // namespace

std::vector<std::string> export_kineto(const Trace& trace, const std::string& folder,
                                       bool gzip) {
  if (int_arg(trace.lockstep, top::format) != 1 ||
      trace.lockstep.contains(top::imported)) {
    throw std::runtime_error(
        "not a trace that lockstep recorded; fix: export one recorded with lockstep "
        "train --trace FILE");
  }
  std::vector<int64_t> ranks;
  std::vector<std::string> paths;
  std::set<std::string> names;
  for (const int64_t rank : ranks_of(trace, Lanes(trace))) {
    const std::string name =
        fmt::format("rank-{}{}{}", rank, kEnding, gzip ? ".gz" : "");
    ranks.push_back(rank);
    names.insert(name);
    paths.push_back((fs::path(folder) / name).string());
  }
  if (ranks.empty()) throw std::runtime_error("the trace has no events to export");

  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (error) {
    throw std::runtime_error(
        fmt::format("{}: the folder cannot be created ({})", folder, error.message()));
  }
  try {
    refuse_strangers(folder, names);
    std::list<AtomicFile> files;
    for (size_t i = 0; i < ranks.size(); ++i) {
      write_rank(trace, ranks[i], paths[i], files.emplace_back(paths[i]));
    }
    for (AtomicFile& file : files) file.commit();
  } catch (const std::runtime_error&) {
    if (is_new) fs::remove(folder, error);  // only if it is empty
    throw;
  }
  return paths;
}

}  // namespace lockstep::tracer
