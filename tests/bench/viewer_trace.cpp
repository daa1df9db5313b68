#include "tests/bench/viewer_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace lockstep::bench {

namespace {

struct Line {
  int64_t ts, dur;  ///< ns
  std::string text;
};

/// Writes step by step. Each step is sorted separately, as steps do not overlap.
class Writer {
 public:
  explicit Writer(const TraceSize& size) : size_(size) { text_.reserve(bytes()); }

  std::string write() {
    head();
    for (int64_t step = 0; events_ < size_.events; ++step) write_step(step);
    text_.resize(text_.size() - 2);  // removes the last comma
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  size_t bytes() const { return size_.events * 300 + 100'000; }

  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void head();
  void write_step(int64_t step);
  void forward(int64_t step, int device, int64_t at, int64_t parent);
  void backward(int64_t step, int device, int64_t at);
  void transfers(int64_t step, const char* why, int64_t at, bool to_devices);

  int64_t next_id() { return ++events_, id_++; }
  int64_t random(int64_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(state_ >> 33) % below;
  }

  /// Writes one `X` event; `args` is appended to its id, step and rank. Returns the id.
  int64_t event(const char* cat, std::string_view name, int64_t pid, int64_t tid,
                int64_t ts, int64_t dur, int64_t step, const std::string& args);
  void kernel(const char* name, const char* phase, int device, int64_t ts, int64_t dur,
              int64_t step, int64_t op);
  void counter(int device, int64_t ts);

  TraceSize size_;
  std::string text_;
  std::vector<Line> lines_;
  std::vector<int64_t> counters_;  ///< per device: recorded so far
  std::vector<int64_t> free_at_;   ///< per device: when its compute stream becomes idle
  size_t events_ = 0;
  int64_t id_ = 1, clock_ = 1000;
  uint64_t state_ = 1;
};

std::string micro(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

void Writer::head() {
  add("{{\n\"displayTimeUnit\": \"ms\",\n\"lockstep\": {{\"format\": 1, \"clock\": "
      "\"measured\", \"command\": \"made by rule\", \"mode\": \"dp\", \"arch\": "
      "\"made\", \"devices\": [");
  for (int d = 0; d < size_.devices; ++d) {
    add("{}{{\"id\": {}, \"name\": \"cpu:{}\", \"rank\": 0}}", d ? ", " : "", d, d);
  }
  add("], \"steps\": 1, \"model\": {{\"parameter_bytes\": 48, \"buffer_bytes\": 8, "
      "\"tensors\": []}}, \"sources\": {{}}}},\n\"traceEvents\": [\n");
  const auto name = [&](const char* what, int pid, int tid, const std::string& text) {
    add("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":0.000,\"args\":"
        "{{\"name\":\"{}\"}}}},\n",
        what, pid, tid, text);
  };
  name("process_name", 0, 0, "host");
  for (int d = 0; d < size_.devices; ++d) {
    name("thread_name", 0, d, d == 0 ? "main" : fmt::format("replica {}", d));
    name("process_name", d + 1, 0, fmt::format("device {}", d));
    name("thread_name", d + 1, 0, "compute");
    name("thread_name", d + 1, 1, "copy");
  }
}

int64_t Writer::event(const char* cat, std::string_view name, int64_t pid, int64_t tid,
                      int64_t ts, int64_t dur, int64_t step, const std::string& args) {
  const int64_t id = next_id();
  lines_.push_back(
      {ts, dur,
       fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},)"
                   R"("dur":{},"args":{{"id":{},"step":{}{}}}}})",
                   cat, name, pid, tid, micro(ts), micro(dur), id, step, args)});
  return id;
}

void Writer::kernel(const char* name, const char* phase, int device, int64_t ts,
                    int64_t dur, int64_t step, int64_t op) {
  int64_t& free = free_at_[device];
  const int64_t queued = random(300);
  const int64_t begin = std::max(ts, free) + queued;
  free = begin + dur;
  event("kernel", name, device + 1, 0, begin, dur, step,
        fmt::format(R"(,"op":{},"deps":[],"rank":0,"device":{},"stream":0,"impl":)"
                    R"("jit_wino_4x3:avx512_core","phase":"{}","queued_us":{},)"
                    R"("cpu_us":{},"memory_counters":{})",
                    op, device, phase, micro(queued), micro(dur), counters_[device]));
  if (random(5) == 0) counter(device, begin);
}

void Writer::counter(int device, int64_t ts) {
  ++counters_[device];
  lines_.push_back(
      {ts, 0,
       fmt::format(R"({{"ph":"C","cat":"memory","name":"memory","pid":{},"tid":0,)"
                   R"("ts":{},"args":{{"parameters":44695848,"gradients":{},"buffers":)"
                   R"(38560,"activations":{},"inputs":64,"optimizer":0,"buckets":0,)"
                   R"("workspace":0,"other":0}}}})",
                   device + 1, micro(ts), random(44'695'848), random(1 << 30))});
}

void Writer::forward(int64_t step, int device, int64_t at, int64_t parent) {
  const int64_t length = size_.modules * int64_t{10'000} - 1'000;
  event("call", "ResNet.forward", 0, device, at, length, step,
        fmt::format(R"(,"parent":{},"rank":0,"cpp":"ResNet::forward","file":)"
                    R"("engine/nn/module.cpp","line":21,"module":"","shapes":)"
                    R"([[32,3,32,32]],"def_file":"engine/models/resnet.cpp",)"
                    R"("def_line":80)",
                    parent));
  for (int m = 0; m < size_.modules; ++m) {
    const int64_t ts = at + m * int64_t{10'000} + 100;
    const std::string module = fmt::format("layer{}.{}.conv1", m % 4 + 1, m / 4 % 8);
    const auto call = [&](const char* name, const char* cpp, int64_t in) {
      event(
          "call", name, 0, device, ts + in, 8'000 - 2 * in, step,
          fmt::format(R"(,"rank":0,"cpp":"{}","file":"engine/models/resnet.cpp",)"
                      R"("line":{},"module":"{}","shapes":[[32,64,32,32]],"def_file":)"
                      R"("engine/nn/module.cpp","def_line":14)",
                      cpp, m % 90, module));
    };
    call("Conv2d.__call__", "Module::operator()", 0);
    call("Module._call_impl", "Module::call_impl", 200);
    call("Conv2d.forward", "Conv2d::forward", 400);
    const int64_t op =
        event("op", "aten::conv2d", 0, device, ts + 700, 6'000, step,
              R"(,"rank":0,"shapes":[[32,64,32,32],[64,64,3,3]],"flops":2415919104,)"
              R"("file":"engine/nn/conv.cpp","line":31)");
    kernel("aten::conv2d", "parallel_apply", device, ts + 1'500, 5'000 + random(4'000),
           step, op);
  }
}

void Writer::backward(int64_t step, int device, int64_t at) {
  for (int m = 0; m < size_.modules; ++m) {
    const int64_t ts = at + m * int64_t{10'000} + 200 * device;
    const int64_t op = event("op", "ConvolutionBackward0", 0, device, ts, 7'000, step,
                             R"(,"rank":0,"shapes":[[32,64,32,32],[64,64,3,3]],)"
                             R"("flops":4831838208)");
    const int64_t by = id_;
    kernel("ConvolutionBackward0", "backward", device, ts + 800, 6'000 + random(3'000),
           step, op);
    const int64_t end = free_at_[device];
    lines_.push_back(
        {end, 0,
         fmt::format(R"({{"ph":"i","cat":"mark","name":"grad_ready","pid":{},"tid":0,)"
                     R"("ts":{},"s":"t","args":{{"id":{},"step":{},"rank":0,"device":)"
                     R"({},"stream":0,"param":"layer{}.0.conv1.weight","by":{}}}}})",
                     device + 1, micro(end), next_id(), step, device, m % 4 + 1, by)});
  }
}

/// One copy per device except the first, to or from that device.
void Writer::transfers(int64_t step, const char* why, int64_t at, bool to_devices) {
  const int64_t op = event("op", why, 0, 0, at, 9'000, step, R"(,"rank":0)");
  for (int d = 1; d < size_.devices; ++d) {
    const int to = to_devices ? d : 0, from = to_devices ? 0 : d;
    event("copy", why, to + 1, 1, at + 100 + d * 9'000, 8'000, step,
          fmt::format(R"(,"op":{},"deps":[{},{}],"rank":0,"device":{},"stream":1,)"
                      R"("src":{},"dst":{},"bytes":24576,"why":"{}","tensor":)"
                      R"("parameters","dtype":"float32","phase":"{}","queued_us":)"
                      R"({},"cpu_us":2.494,"shape":[6144])",
                      op, op, op, to, from, to, why, why, micro(random(100))));
  }
}

void Writer::write_step(int64_t step) {
  counters_.resize(size_.devices);
  lines_.clear();
  const int64_t half = size_.modules * int64_t{10'000};
  const int64_t begin = clock_, length = 4 * half + 400'000;
  free_at_.assign(size_.devices, begin);
  event("phase", "step", 0, 0, begin, length, step,
        R"(,"rank":0,"kind":"train","batch":32,"input_bytes":393216,"label_bytes":256,)"
        R"("output_bytes":1280,"chunks":[8,8,8,8],"input_on":"host")");
  const int64_t parent =
      event("phase", "forward", 0, 0, begin + 1'000, 2 * half, step, R"(,"rank":0)");
  for (int i = 0; i < size_.modules / 50 + 1; ++i) {
    transfers(step, "replicate", begin + 2'000 + i * int64_t{40'000}, true);
  }
  for (int d = 0; d < size_.devices; ++d) {
    forward(step, d, begin + half + d * int64_t{300}, parent);
  }
  event("phase", "backward", 0, 0, begin + 2 * half + 2'000, half + 100'000, step,
        R"(,"rank":0)");
  for (int d = 0; d < size_.devices; ++d) {
    backward(step, d, begin + 2 * half + 3'000);
  }
  for (int i = 0; i < size_.modules / 50 + 1; ++i) {
    transfers(step, "reduce", begin + 3 * half + 150'000 + i * int64_t{40'000}, false);
  }
  clock_ = begin + length + 5'000;
  std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
    return a.ts != b.ts ? a.ts < b.ts : a.dur > b.dur;
  });
  for (const Line& line : lines_) text_ += line.text, text_ += ",\n";
}

}  // namespace

std::string make_trace(const TraceSize& size) { return Writer(size).write(); }

}  // namespace lockstep::bench
