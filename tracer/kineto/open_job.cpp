// The files of several ranks, merged as `trace merge` does.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "tracer/format/merge.h"
#include "tracer/format/partial.h"
#include "tracer/format/trace_file.h"
#include "tracer/kineto/kineto.h"
#include "tracer/record/journal.h"

namespace lockstep::tracer {

namespace {

/// Returns the rank in a file's `distributedInfo`, without reading its events if that
/// comes before them, as PyTorch's profiler writes it; kNone if there is none.
int64_t rank_in(const std::string& path) {
  const FileText file = open_trace_text(path, SIZE_MAX, Ending::any);
  const size_t first = file.text.find_first_of("{[");
  if (first == file.text.npos) return kNone;
  using File = TraceFile<Grammar::tolerant>;
  File trace(file.text.substr(first));
  for (File::Found found = trace.next(); found != File::Found::end;
       found = trace.next()) {
    if (found != File::Found::member || trace.key() != top::distributed) continue;
    const Json info = Json::parse(trace.value(), nullptr, false);
    return info.is_object() ? int_arg(info, top::rank, kNone) : kNone;
  }
  return kNone;
}

}  // namespace

std::optional<Trace> open_job(const std::vector<std::string>& paths, std::string& why) {
  std::vector<std::pair<int64_t, std::string>> ranks;
  std::set<int64_t> numbers;
  for (const std::string& path : paths) {
    try {
      ranks.emplace_back(rank_in(path), path);
    } catch (const NoCompleteStep&) {  // as if it were missing
      continue;
    }
    const int64_t rank = ranks.back().first;
    if (rank == kNone || !numbers.insert(rank).second) return std::nullopt;
  }
  if (ranks.size() < 2) return std::nullopt;
  std::sort(ranks.begin(), ranks.end());
  std::vector<Trace> traces;
  std::vector<std::string> names;
  for (const auto& [rank, path] : ranks) {
    traces.push_back(open_trace(path));
    names.push_back(path);
  }
  try {
    return merge_traces(std::move(traces), names);
  } catch (const std::runtime_error& error) {
    why = error.what();
    return std::nullopt;
  }
}

}  // namespace lockstep::tracer
