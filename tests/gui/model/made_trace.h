// A builder for hand-written traces, one line per event, and the two traces of the
// narration tests.
#pragma once

#include <fmt/format.h>

#include <cctype>
#include <sstream>
#include <string>

#include "gui/model/loader.h"

namespace lockstep::gui::test {

/// A hand-written trace: ids count from 1 in order of writing.
class Made {
 public:
  explicit Made(std::string mode = "dp") : mode_(std::move(mode)) {}

  /// Adds an event on the host (lane 0) or on device `lane - 1`; times in µs.
  Made& x(const std::string& cat, const std::string& name, int lane, int ts, int dur,
          const std::string& args) {
    const int stream = cat == "copy" ? 1 : cat == "collective" ? 2 : 0;
    std::string all = fmt::format(R"("id":{},"step":3)", ++last_id_);
    if (lane > 0) all += fmt::format(R"(,"device":{},"stream":{})", lane - 1, stream);
    if (!args.empty()) all += "," + args;
    events_ += fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},)"
                           R"("ts":{},"dur":{},"args":{{{}}}}},)",
                           cat, name, lane, stream, ts, dur, all);
    return *this;
  }
  Made& mark(const std::string& name, const std::string& args) {
    ++last_id_;
    events_ +=
        fmt::format(R"({{"ph":"i","name":"{}","ts":{},"args":{{"id":{}{}{}}}}},)", name,
                    last_id_, last_id_, args.empty() ? "" : ",", args);
    return *this;
  }
  /// Adds an event with only these arguments.
  Made& raw(const std::string& cat, const std::string& name, const std::string& args) {
    events_ += fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,)"
                           R"("ts":1,"dur":2,"args":{{{}}}}},)",
                           cat, name, args);
    return *this;
  }
  Model model() const {
    const std::string meta =
        R"({"format":1,"clock":"measured","model":{"parameter_bytes":800000},)"
        R"("devices":[{"id":0},{"id":1},{"id":2}],"mode":")";
    return load_model(
        "made", fmt::format(R"({{"lockstep":{},"traceEvents":[{}{{}}]}})",
                            mode_.empty() ? "{}" : meta + mode_ + "\"}", events_));
  }

 private:
  std::string mode_, events_;
  int last_id_ = 0;
};

/// Each line has category, name, lane, begin, duration, and arguments as key=value.
inline Made made(std::string mode, const char* lines) {
  Made result(std::move(mode));
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string category, name, args, word;
    int lane = 0, ts = 0, dur = 0;
    if (!(words >> category >> name >> lane >> ts >> dur)) continue;
    while (words >> word) {
      const size_t equals = word.find('=');
      std::string value = word.substr(equals + 1);
      if (std::isalpha(static_cast<unsigned char>(value[0]))) value = '"' + value + '"';
      args += (args.empty() ? "\"" : ",\"") + word.substr(0, equals) + "\":" + value;
    }
    result.x(category, name, lane, ts, dur, args);
  }
  return result;
}

inline constexpr const char* kDataParallel = R"(
phase step 0 0 99000 kind=train batch=5 chunks=[2,2,1] input_on=host
phase data 0 0 2000
phase scatter 0 2000 1000
copy images 3 2500 10 op=3 why=scatter src=host dst=2 bytes=100000
phase replicate 0 3000 1000
copy weights 2 3500 100 op=5 phase=replicate why=replicate src=0 dst=1 bytes=800000
copy buffers 2 3600 100 op=5 phase=replicate why=replicate src=0 dst=1 bytes=100000
copy model 3 3700 6300 op=5 phase=replicate why=replicate src=0 dst=2 bytes=900000
phase parallel_apply 0 10000 1000
call Net.__call__ 0 10000 900 module="" shapes=[[2,3,32,32]]
call Module._call_impl 0 10010 800 module="" shapes=[[2,3,32,32]]
call Net.forward 0 10020 700 module="" shapes=[[2,3,32,32]]
call Conv2d.forward 0 10030 100 module=conv1 shapes=[[2,3,32,32]]
op aten::conv2d 0 10040 50 shapes=[[2,3,32,32],[8,3,3,3]] flops=442368
kernel conv2d 2 12000 1000 op=14 flops=442368 queued_us=500 cpu_us=600
op aten::batch_norm 0 10200 50 shapes=[[2,8,32,32]]
kernel batch_norm 2 13000 100 op=16 bytes=131072
op aten::relu_ 0 10300 50 shapes=[[2,8,32,32]]
phase backward 0 30000 9000
op ConvolutionBackward0 0 30100 50 fwd=14 shapes=[[2,8,32,32]] flops=884736
kernel conv2d_backward_data 2 40000 9900 op=20 phase=backward flops=442368
kernel conv2d_backward_weight 2 49900 100 op=20 phase=backward flops=442368
)";

inline constexpr const char* kDistributed = R"(
phase step 0 0 1000 kind=eval batch=1 chunks=[1]
phase all_reduce 0 10 900
collective ring 1 20 500 op=2 collective=all_reduce group_size=3 bytes=1200000 bucket=1
copy first_chunk 2 30 50 op=3 why=all_reduce src=0 dst=1 bytes=400000 ring_step=1
copy second_chunk 3 80 50 op=3 why=all_reduce src=1 dst=2 bytes=400000 ring_step=2
copy empty_chunk 3 130 50 op=3 why=all_reduce src=1 dst=2 bytes=0 ring_step=3
copy buffers 2 600 10 why=broadcast src=0 dst=1 bytes=64 tensor=buffers
)";

}  // namespace lockstep::gui::test
