#include <algorithm>
#include <map>
#include <set>

#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep::tracer {
namespace {

struct Definition {
  std::string file;
  int64_t line = 0;
};

Sources& sources() {
  static Sources all;
  return all;
}

/// Returns where `Type::function` is defined: the first line of a .cpp file
/// that contains it at the outermost level, followed by its parameters.
Definition find_definition(const std::string& function, const Sources& sources) {
  const std::string wanted = function + "(";
  for (const auto& [file, text] : sources) {
    if (!file.ends_with(".cpp")) continue;
    for (size_t at = text.find(wanted); at != text.npos;
         at = text.find(wanted, at + 1)) {
      const size_t begin = text.rfind('\n', at) + 1;
      const std::string_view before = text.substr(begin, at - begin);
      const bool definition = !before.empty() && before[0] != ' ' && before[0] != '/' &&
                              before.back() == ' ';
      if (!definition) continue;
      const auto line = std::count(text.begin(), text.begin() + at, '\n') + 1;
      return {file, line};
    }
  }
  return {};
}

/// Changes the line of a slot's event from the line that registered the learner's
/// function to that of the function (or method) with the event's name in the same file.
void point_to_learners_function(Event& event, const Sources& sources) {
  const auto found = sources.find(string_arg(event.args, keys::file));
  if (found == sources.end()) return;
  const std::string_view text = found->second;
  const std::string wanted = event.name + "(";
  for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
    const size_t begin = text.rfind('\n', at) + 1;
    const std::string_view before = text.substr(begin, at - begin);
    const bool declares = before.ends_with(' ') &&
                          before.find_first_of("/=.(#") == before.npos &&
                          before.find("return") == before.npos;
    if (!declares) continue;
    event.args[keys::line] = std::count(text.begin(), text.begin() + at, '\n') + 1;
    return;
  }
}

void add_definitions(std::vector<Event>& events, const Sources& sources) {
  std::map<std::string, Definition> known;
  for (Event& event : events) {
    if (event.is(categories::call) && event.args.contains(keys::slot)) {
      point_to_learners_function(event, sources);
      continue;
    }
    if (!event.is(categories::call) || !event.args.contains(keys::cpp)) continue;
    const std::string function = string_arg(event.args, keys::cpp);
    auto [entry, fresh] = known.try_emplace(function);
    if (fresh) entry->second = find_definition(function, sources);
    if (entry->second.file.empty()) continue;
    event.args[keys::def_file] = entry->second.file;
    event.args[keys::def_line] = entry->second.line;
  }
}

Json named_sources(const std::vector<Event>& events, const Sources& sources) {
  std::set<std::string> files;
  for (const Event& event : events) {
    for (const char* key : {"file", "def_file"}) {
      if (event.args.contains(key)) files.insert(string_arg(event.args, key));
    }
  }
  Json texts = Json::object();
  for (const std::string& file : files) {
    if (auto found = sources.find(file); found != sources.end()) {
      texts[file] = std::string(found->second);
    }
  }
  return texts;
}

Json model_facts(const RunFacts& facts) {
  int64_t parameter_bytes = 0, buffer_bytes = 0;
  Json tensors = Json::array();
  for (const RunFacts::TensorFact& tensor : facts.tensors) {
    (tensor.kind == "parameter" ? parameter_bytes : buffer_bytes) += tensor.bytes;
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"dtype", tensor.dtype},
                       {"kind", tensor.kind}});
  }
  return {{"parameter_bytes", parameter_bytes},
          {"buffer_bytes", buffer_bytes},
          {"tensors", tensors}};
}

Json offsets_of(const RunFacts& facts) {
  Json offsets = Json::array();
  for (const RunFacts::ClockFact& one : facts.comparisons) {
    offsets.push_back({{"at_ns", one.at_ns},
                       {"offset_ns", one.offset_ns},
                       {"round_trip_ns", one.round_trip_ns}});
  }
  return offsets;
}

}  // namespace

void add_source(std::string_view path, std::string_view text) {
  sources()[std::string(path)] = text;
}

std::string_view source_text(std::string_view path) {
  const auto found = sources().find(path);
  return found == sources().end() ? std::string_view() : found->second;
}

const Sources& registered_sources() { return sources(); }

Trace describe_run(const RunFacts& facts) {
  Json devices = Json::array();
  for (size_t i = 0; i < facts.devices.size(); ++i) {
    const size_t rank = facts.world_size > 1 ? i : 0;
    devices.push_back(
        {{keys::id, i}, {keys::name, facts.devices[i]}, {keys::rank, rank}});
  }
  Trace trace;
  trace.other[top::time_unit] = "ms";
  Json& info = trace.other[top::distributed];
  info["backend"] = facts.backend;
  if (facts.rank >= 0) info[top::rank] = facts.rank;
  info[top::world_size] = facts.world_size;
  trace.lockstep = {{top::format, 1},
                    {top::clock, values::measured},
                    {top::command, facts.command},
                    {top::mode, facts.mode},
                    {top::arch, facts.arch},
                    {top::devices, devices},
                    {top::model, model_facts(facts)}};
  if (facts.rank >= 0 && facts.world_size > 1) {
    trace.lockstep[top::rank_clock] = {
        {"origin_ns", recording_origin()},
        {"boot_id", facts.clock.empty() ? boot_id() : facts.clock},
        {"run", current_run()},
        {"offsets", offsets_of(facts)}};
  }
  return trace;
}

Trace finish_trace(Trace description, std::vector<Event> events,
                   const Sources& sources) {
  add_definitions(events, sources);
  std::set<int64_t> steps;
  for (const Event& event : events) {
    if (event.is(categories::phase) && event.name == names::step)
      steps.insert(event.step);
  }
  description.lockstep[top::steps] = steps.size();
  description.lockstep[top::sources] = named_sources(events, sources);
  description.events = std::move(events);
  return description;
}

}  // namespace lockstep::tracer
