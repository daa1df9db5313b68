// Records lesson 16's traces: record FOLDER writes trace.json.gz, of a run without a
// fault, and cases/01.json.gz … cases/10.json.gz.
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/16-detective/cases.h"
#include "tracer/record/collect.h"
#include "tracer/record/embedded.h"

namespace {

using namespace lockstep;  // NOLINT
namespace detective = lessons::detective;

/// Prints the faults of a trace, each with an event. Returns their names.
std::vector<std::string> say_faults(const tracer::Trace& trace) {
  std::vector<std::string> names;
  for (const lessons::Suspicion suspicion : lessons::all_suspicions()) {
    const lessons::Finding finding = lessons::investigate(trace, suspicion);
    if (finding.guilty.empty()) continue;
    names.emplace_back(lessons::name(suspicion));
    std::printf("%ld %s: %s\n", static_cast<long>(finding.guilty[0]->id),
                lessons::name(suspicion), finding.because.c_str());
  }
  return names;
}

/// Returns false if the rules do not find exactly this fault.
bool write(const std::string& file, detective::Fault fault) {
  std::printf("%s\n", file.c_str());
  const tracer::Trace trace = detective::run(fault);
  tracer::write_trace(trace, file);
  std::vector<std::string> expected;
  if (fault) expected.emplace_back(lessons::name(*fault));
  return say_faults(trace) == expected;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("record FOLDER\n", stderr);
    return 2;
  }
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const EmbeddedFile& file = lockstep_embedded_files()[i];
    const std::string_view path = file.path;
    if (path.starts_with("lessons/")) continue;
    tracer::add_source(path, {file.begin, file.end});
  }
  const std::string folder = words[1];
  std::filesystem::create_directories(folder + "/cases");
  bool right = write(folder + "/trace.json.gz", {});
  for (const detective::Case& one : detective::cases()) {
    right = write(folder + "/" + file_of(one), one.fault) && right;
  }
  if (!right) std::fputs("a recording has other faults than it should\n", stderr);
  return right ? 0 : 1;
}
