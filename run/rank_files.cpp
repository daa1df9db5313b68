#include "run/rank_files.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/program.h"
#include "run/writing.h"
#include "tracer/format/merge.h"
#include "tracer/record/journal.h"

namespace lockstep::run {
namespace {

constexpr const char* kAllWritten = "files";
constexpr const char* kNoTrace = "none";

std::string trace_key(int rank) { return "trace/" + std::to_string(rank); }

}  // namespace

std::string rank_file(const std::string& path, int rank) {
  const size_t folder = path.find_last_of('/') + 1;
  size_t dot = path.find(".json", folder);
  if (dot == path.npos) dot = path.size();
  return path.substr(0, dot) + ".rank" + std::to_string(rank) + path.substr(dot);
}

void tell_of_trace(distributed::Store& store, const std::string& file, int rank) {
  const bool none = !file.empty() && !std::filesystem::exists(file);
  store.set(trace_key(rank), none ? kNoTrace : "written");
}

void merge_rank_files(const RunConfig& c, int world, distributed::Store& store,
                      Milliseconds timeout) {
  const Writing writing;
  std::vector<tracer::Trace> traces;
  std::vector<std::string> files;
  for (int rank = 0; rank < world; ++rank) {
    if (store.get(trace_key(rank), timeout) == kNoTrace) continue;
    files.push_back(rank_file(c.output.trace, rank));
    if (!std::filesystem::exists(files.back())) {
      std::fprintf(stderr,
                   "lockstep: %s is not on this machine; fix: collect all ranks' files "
                   "and run `trace merge FILE… -o %s`\n",
                   files.back().c_str(), c.output.trace.c_str());
      return;
    }
    traces.push_back(tracer::read_trace(files.back()));
  }
  if (traces.empty()) return;  // no rank has reached the first traced step
  tracer::ClockReport clocks;
  tracer::write_trace(tracer::merge_traces(std::move(traces), files, &clocks),
                      c.output.trace);
  for (const std::string& file : files) std::filesystem::remove(file);
  if (!c.output.quiet) {
    if (!clocks.text().empty()) std::printf("=> %s\n", clocks.text().c_str());
    std::printf("=> trace written: %s (%d ranks)\n", c.output.trace.c_str(),
                static_cast<int>(files.size()));
  }
}

void say_what_is_left(const std::string& trace, int first, int count) {
  std::string files;
  int found = 0;
  for (int rank = first; rank < first + count; ++rank) {
    const std::string file = rank_file(trace, rank);
    for (const std::string& name : {file, tracer::journal_of(file)}) {
      if (!std::filesystem::exists(name)) continue;
      files += " " + shell_word(name);
      ++found;
      break;
    }
  }
  if (found < 2) return;
  std::fprintf(stderr, "lockstep: what the ranks recorded: %s trace merge -o %s%s\n",
               program().c_str(), shell_word(trace).c_str(), files.c_str());
}

void tell_of_files(distributed::Store& store) { store.set(kAllWritten, "written"); }

void wait_for_files(distributed::Store& store) {
  try {
    store.get(kAllWritten, std::chrono::minutes(1));
  } catch (const std::exception&) {  // rank 0 has ended in another way
  }
}

}  // namespace lockstep::run
