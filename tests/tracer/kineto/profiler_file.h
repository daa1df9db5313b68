// A file as torch.profiler writes it, put together by hand. Times in µs.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tracer/kineto/kineto.h"

namespace lockstep::tracer::testing {

class ProfilerFile {
 public:
  explicit ProfilerFile(int rank = 0, int ranks = 1) : rank_(rank), ranks_(ranks) {}

  ProfilerFile& host(const char* cat, const std::string& name, double ts, double dur,
                     const std::string& args = "", int thread = 9) {
    return event(cat, name, 9, thread, ts, dur, args);
  }
  ProfilerFile& step(int number, double ts, double dur) {
    return host("user_annotation", "ProfilerStep#" + std::to_string(number), ts, dur);
  }
  /// A task on device 0, and its launch, of 1 µs, on the host.
  ProfilerFile& task(const char* cat, const std::string& name, double launched,
                     double ts, double dur, int stream = 7,
                     const std::string& args = "") {
    const std::string number = fmt::format(R"("correlation": {})", ++correlation_);
    host("cuda_runtime", "cudaLaunchKernel", launched, 1, number);
    return event(cat, name, 0, stream, ts, dur,
                 fmt::format(R"({}, "device": 0, "stream": {}{}{})", number, stream,
                             args.empty() ? "" : ", ", args));
  }
  ProfilerFile& kernel(const std::string& name, double launched, double ts, double dur,
                       int stream = 7) {
    return task("kernel", name, launched, ts, dur, stream);
  }

  std::string text() const {
    return fmt::format(
        R"({{"distributedInfo": {{"rank": {}, "world_size": {}}}, "traceEvents": [{}]}})",
        rank_, ranks_, events_);
  }
  Trace imported() const { return import_kineto(parse_trace(text(), "hand.json")); }

 private:
  ProfilerFile& event(const char* cat, const std::string& name, int pid, int tid,
                      double ts, double dur, const std::string& args) {
    events_ += fmt::format(
        R"({}{{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
        R"("args":{{{}}}}})",
        events_.empty() ? "" : ",\n", cat, name, pid, tid, ts, dur, args);
    return *this;
  }

  int rank_, ranks_, correlation_ = 0;
  std::string events_;
};

}  // namespace lockstep::tracer::testing
