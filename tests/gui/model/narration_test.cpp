// The viewer's sentence about each event: correct, readable, and never a crash.
//
// Events are addressed by their paths (tests/tracer/named_events.h). position_test.cpp
// shows minimal.json; these are the traces of made_trace.h. A step of DataParallel:
//
//   step 3
//     data
//     scatter
//       images@device 2
//     replicate
//       weights@device 1
//       buffers@device 1
//       model@device 2
//     parallel_apply
//       Net.__call__
//         Module._call_impl
//           Net.forward
//             Conv2d.forward
//               aten::conv2d
//                 conv2d@device 1
//             aten::batch_norm
//               batch_norm@device 1
//             aten::relu_
//     backward
//       ConvolutionBackward0
//         conv2d_backward_data@device 1
//         conv2d_backward_weight@device 1
//
// and a ring of DistributedDataParallel:
//
//   step 3
//     all_reduce
//       ring@device 0
//         first_chunk@device 1
//         second_chunk@device 2
//         empty_chunk@device 2
//   buffers@device 1
#include "gui/model/narration.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <span>
#include <sstream>

#include "gui/text/language.h"
#include "tests/gui/model/narrated.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {
namespace {

using namespace test;             // NOLINT
using namespace tracer::testing;  // NOLINT

// Devices of type null compute nothing, so the times of their tasks and of a step mean
// nothing. What the host's own calls took remains.
TEST(Narration, OfNullDevicesTellsNoTimes) {
  for (const char* file : {"dp.json.gz", "ddp.json.gz"}) {
    std::string text = tracer::read_whole_file(golden() / "viewer" / file);
    for (size_t at = 0; (at = text.find("\"cpu:", at)) != text.npos;) {
      text.replace(at, 5, "\"null:");
    }
    const Model model = load_model(file, text);
    expect_readable(model);
    const Breakdown step = break_down(model, 0);
    for (uint32_t event = 0; event < model.events.size(); ++event) {
      const bool timeless = !model.lanes[model.events[event].lane].is_host() ||
                            model.events[event].what() == Kind::step;
      if (!timeless || model.step_of(model.events[event]) != 0) continue;
      const State state = state_at(model, at_event(model, event));
      const std::string said = narrate(model, state, step).text;
      EXPECT_FALSE(std::regex_search(said, std::regex(R"([0-9] (ns|µs|ms|s)\b)")))
          << said;
    }
  }
}

TEST(Narration, TheHeaderShowsTheMadeTraces) {
  const std::string file = "tests/gui/model/narration_test.cpp";
  expect_header_shows(file, names_of(made("dp", kDataParallel).model()));
  expect_header_shows(file, names_of(made("ddp", kDistributed).model()));
}

TEST(Narration, OfTheMinimalTrace) {
  const Model model = load_model("minimal.json", slurp(golden() / "minimal.json"));
  const Expected expected[] = {
      {"step 0",
       "**Step 0** trains on **3 images**, cut into 2 chunks of 2 (last: 1), in "
       "**95.0 µs**: 31579 images per second. On the devices, loss takes longest: 27 % "
       "of the step."},
      {"DataParallel.__call__",
       "**model(images)** in main.py arrives here: model is a DataParallel over 2 "
       "devices. In Python, calling a Module runs **__call__**, which is _call_impl, "
       "and that calls **forward**."},
      {"aten::linear#1",
       "**aten::linear** multiplies [2, 5] by the weights [2, 5] and adds the bias: "
       "**40 FLOP**. The call queues the kernel, which ran **1.50 µs later** on device "
       "0, "
       "for 11.5 µs."},
      {"wait for the loss",
       "The host **waits 48.0 µs** for the number that item() returns, until device 0 "
       "has it. Once per step this is harmless; if it happens often, devices go idle."},
      {"scatter images@cpu:0",
       "**images[0:2]** of the batch go from the host to device 0: 40 B: **chunk 0** "
       "(0 to 1)."},
      {"replicate buffers@cpu:1",
       "**8 B of buffers** (such as a batch norm's running statistics) go from device "
       "0 to device 1: its replica needs them, too. Group 2 of 2."},
  };
  expect_said(model, expected);
}

TEST(Narration, OfADataParallelStep) {
  const Model model = made("dp", kDataParallel).model();
  const Expected expected[] = {
      {"scatter",
       "**scatter** cuts the batch into 3 chunks of 2 (last: 1), one for each "
       "device: **100 kB** leave the host in 1 copy."},
      {"replicate",
       "Device 0 copies **the model** (900 kB) to each of the 2 other devices, as in "
       "**every** forward pass: the parameters live on device 0. On the "
       "devices, this spans **6.50 ms**, 7 % of the step. All 3 copies leave device 0, "
       "one after another."},
      {"Module._call_impl",
       "**_call_impl** turns replica(x) into Net.forward(x): first the forward "
       "pre-hooks, if any, then **forward**, then the forward hooks. Calling forward "
       "directly would skip the hooks."},
      {"Net.forward",
       "This is the **forward** that main.py never calls: model(images) → "
       "DataParallel.forward → replica(x) → **Net.forward**. x is [2, 3, 32, 32]. The "
       "host queues this in 700 µs; device 1 finishes **2.38 ms later**."},
      {"aten::conv2d",
       "**aten::conv2d** in conv1 moves the filters [8, 3, 3, 3] over [2, 3, 32, 32]: "
       "**442 kFLOP**. The call queues the kernel, which ran **1.96 ms later** on "
       "device "
       "1, for 1.00 ms."},
      {"conv2d@device 1",
       "**conv2d** of conv1 ran on device 1 for **1.00 ms** at **442 MFLOP/s**. Before "
       "that it waited 500 µs for a core. It had a core for only 60 % of its "
       "duration."},
      {"aten::batch_norm",
       "**aten::batch_norm** normalises each channel of [2, 8, 32, 32] with the mean "
       "and variance of **this device's chunk only**; the other chunks have theirs. "
       "The call queues the kernel, which ran **2.80 ms later** on device 1, for 100 "
       "µs."},
      {"ConvolutionBackward0",
       "**ConvolutionBackward0** computes both gradients of aten::conv2d in conv1, for "
       "its input and for its filters: 885 kFLOP, **2.0 times** those of forward. The "
       "call queues 2 kernels; the first ran **9.90 ms later** on device 1."},
  };
  expect_said(model, expected);
}

TEST(Narration, CopiesAtTheSameTimeDoNotTakeTurns) {
  std::string events = kDataParallel;
  const std::string turns = "copy model 3 3700 6300",
                    at_once = "copy model 3 3650 6300";
  ASSERT_NE(events.find(turns), std::string::npos);
  events.replace(events.find(turns), turns.size(), at_once);
  const std::string text = said(made("dp", events.c_str()).model(), "replicate");
  EXPECT_NE(text.find("All 3 copies leave device 0, up to 2 at the same time."),
            std::string::npos)
      << text;
}

TEST(Narration, OfADistributedStep) {
  const Model model = made("ddp", kDistributed)
                          .mark("bucket_ready", R"("bucket":1)")
                          .mark("slot", R"("slot":"scatter")")
                          .mark("grad_hook", R"("param":"fc.bias")")
                          .model();
  const Expected expected[] = {
      {"step 3",
       "**Step 3** evaluates **1 image**, in **1.00 ms**: 1000 images per second. "
       "There is no backward pass, and no parameter changes."},
      {"ring@device 0",
       "**all_reduce of bucket 1**, **1.20 MB**, among 3 ranks, in 500 µs. "
       "**Exposed**, without any kernel: 500 µs. Of that, waiting for other ranks: "
       "unknown."},
      {"first_chunk@device 1",
       "Ring step 2 of 4: device 0 sends **400 kB** of gradients to its neighbour, "
       "device 1, at 8.00 GB/s, which adds its own. The sum grows along the way."},
      {"second_chunk@device 2",
       "Ring step 3 of 4: device 1 passes **400 kB** of finished sums on to its "
       "neighbour, device 2, at 8.00 GB/s. At the end all ranks have all sums."},
      {"empty_chunk@device 2",
       "An empty chunk goes around the ring, from device 1 to device 2: there were too "
       "few values to split. Ring step 4."},
      {"bucket_ready",
       "**Bucket 1** is full: its last gradient is ready. Its all-reduce can now begin "
       "while backward continues."},
      {"slot", "**A learner's code** replaces the engine's scatter from here on."},
  };
  expect_said(model, expected);
}

TEST(Narration, IsTheSameInBothOrders) {
  const Model model = load_model("minimal.json", slurp(golden() / "minimal.json"));
  const char* const path = "scatter images@cpu:0";
  const auto copy = static_cast<uint32_t>(names_of(model)[path]);
  Position in_time = in_time_order(model, at_event(model, copy));
  in_time.time = model.events[copy].ts;
  const State state = state_at(model, in_time);
  ASSERT_EQ(state.event, copy);
  EXPECT_EQ(narrate(model, state, break_down(model, state.step)).text,
            said(model, path));
}

TEST(Narration, ABatchComesFromTheLoaderAndAnOpFromTheAutogradQueue) {
  Made made;
  made.x("sync", "wait for batch", 0, 1, 7, R"("why":"queue")");
  made.x("sync", "autograd queue", 0, 9, 1, R"("why":"queue")");
  const Model model = made.model();
  const std::string batch = said(model, "wait for batch");
  EXPECT_NE(batch.find("next batch"), std::string::npos) << batch;
  EXPECT_NE(batch.find("7.00 µs"), std::string::npos) << batch;
  EXPECT_NE(said(model, "autograd queue").find("autograd thread"), std::string::npos);
}

TEST(Narration, DoesWithoutWhatTheTraceDoesNotSay) {
  Made made;
  for (const char* why : {"h2d", "scatter", "replicate", "gather", "grad_scatter",
                          "reduce", "broadcast", "all_reduce", "d2h", "else", ""}) {
    made.x("copy", "c", 1, 1, 1, R"("src":0,"dst":1,"why":")" + std::string(why) + '"');
  }
  for (const char* why : {"item", "device", "stream", "join", "queue", "else"}) {
    made.x("sync", "s", 0, 1, 1, R"("why":")" + std::string(why) + '"');
  }
  for (const char* name : {"step", "data", "h2d", "forward", "scatter", "replicate",
                           "parallel_apply", "gather", "loss", "backward", "reduce",
                           "all_reduce", "optimizer", "else", ""}) {
    made.x("phase", name, 0, 1, 1, "");
  }
  for (const char* name :
       {"X.__call__", "Module._call_impl", "X.forward", "forward", "Tensor.backward",
        "DataParallel.forward", "", ".", "else"}) {
    made.x("call", name, 0, 1, 1, "").x("call", name, 0, 1, 1, R"("module":"")");
  }
  for (const Template& row : kEnglish) {
    const std::string key(row.key);
    if (!key.starts_with("op/") && !key.starts_with("kernel/")) continue;
    const size_t slash = key.find('/');
    const std::string name =
        key.substr(slash + 1, key.find('/', slash + 1) - slash - 1);
    made.x(key.substr(0, slash), name, key[0] == 'k', 1, 1, "");
  }
  for (const char* name : {"grad_hook", "grad_ready", "bucket_ready", "slot", "else"}) {
    made.mark(name, "");
  }
  made.x("collective", "all_reduce", 1, 1, 1, "").x("collective", "", 1, 1, 1, "");
  expect_readable(made.model());
}

TEST(Narration, SurvivesArgumentsOfWrongTypes) {
  std::string args;
  std::istringstream keys(
      "id step op fwd for why src dst bytes tensor shape shapes flops module batch "
      "chunks kind impl param by bucket phase queued_us cpu_us device stream parent "
      "group_size ring_step algorithm collective");
  for (std::string key; keys >> key;) args += ",\"" + key + "\":?";
  std::istringstream values(
      R"(null true -1 1e300 1.5 9223372036854775807 "" [] [-1] [[],{}] {} {"a":[1]})"
      R"( [99999999999999999999] "**{bytes}[ü\u0000\n]**")");
  for (std::string value; values >> value;) {
    SCOPED_TRACE(value);
    Made made;
    const std::string all =
        std::regex_replace(args.substr(1), std::regex("\\?"), value);
    for (const char* category : {"phase", "call", "op", "kernel", "copy", "collective",
                                 "sync", "cuda_runtime", "\xff\xfe"}) {
      for (const char* name : {"step", "replicate", "scatter", "A.forward", "\xc3(",
                               "X.__call__", "aten::conv2d", "void f<float*>(int**)"}) {
        made.raw(category, name, all);
      }
    }
    made.mark("grad_ready", all).mark("else", all);
    expect_readable(made.model());
  }
}

TEST(Narration, KnowsOtherPeoplesEvents) {
  Made made("");
  made.x("cpu_op", "aten::conv2d", 0, 0, 50,
         R"("Input Dims":[[32,3,224,224],[64,3,7,7],[]])");
  made.x("cuda_runtime", "cudaLaunchKernel", 0, 5, 4, R"("correlation":7)");
  made.x("kernel", "void cutlass::Kernel<float*>(float**, Params{})", 1, 9, 20,
         R"("device":0,"stream":7)");
  made.x("ac2g", "ac2g", 0, 70, 0, "");
  const Model model = made.model();
  expect_readable(model);
  EXPECT_EQ(said(model, "aten::conv2d"),
            "**aten::conv2d** moves the filters [64, 3, 7, 7] over [32, 3, 224, 224].");
  EXPECT_EQ(said(model, "cudaLaunchKernel"),
            "The host calls CUDA: **cudaLaunchKernel**, for 4.00 µs.");
  EXPECT_EQ(said(model, "void cutlass::Kernel<float*>(float**, Params{})@device 0"),
            "**void cutlass::Kernel<float>(float, Params())** ran on device 0 for "
            "**20.0 µs**.");
}

TEST(Narration, SpeaksTheLanguageThatItIsGiven) {
  static constexpr Template rows[] = {
      {"word/host", "der Rechner"},
      {"word/device", "Gerät {id}"},
      {"copy", "{bytes} {bytes}[ ({missing})][, von {from} nach {to}]"},
      {"op", "{kernels:ein Kern|{kernels} Kerne}"},
      {"op", "kein Kern"}};
  const Language language{rows, [](int64_t n) -> size_t { return n == 1 ? 0 : 1; }};
  const Model model = load_model("minimal.json", slurp(golden() / "minimal.json"));
  EXPECT_EQ(said(model, "scatter images@cpu:0", language),
            "40 B 40 B, von der Rechner nach Gerät 0");
  EXPECT_EQ(said(model, "aten::linear#1", language), "ein Kern");
  EXPECT_EQ(said(model, "Scatter", language), "kein Kern");
  EXPECT_EQ(said(model, "step 0", language), "") << "an empty table gives no text";
}

TEST(Narration, TemplatesAreWellFormed) {
  for (const Template& row : kEnglish) {
    SCOPED_TRACE(row.key);
    const auto count = [&](char c) {
      return std::count(row.text.begin(), row.text.end(), c);
    };
    EXPECT_EQ(count('{'), count('}'));
    EXPECT_EQ(count('['), count(']'));
    EXPECT_EQ(emphases(row.text) % 2, 0);
    EXPECT_EQ(row.text.find("  "), std::string::npos);
  }
}

// VGG's features are 59 MB of a model of 537 MB.
TEST(Narration, OfReplicateSaysWhatIsCopied) {
  const auto replicate = [](const char* file) {
    const Model model = load_file((golden() / "viewer" / file).string());
    for (uint32_t i = 0; i < model.events.size(); ++i) {
      const bool phase = model.events[i].what() == Kind::phase;
      if (!phase || model.name_of(model.events[i]) != phases::replicate) continue;
      const State state = state_at(model, at_event(model, i));
      return narrate(model, state, break_down(model, state.step), english()).text;
    }
    return std::string();
  };
  const std::string part = replicate("dp_features.json.gz");
  EXPECT_NE(part.find("the layers in DataParallel** (58.9 MB; the whole model has 537 "
                      "MB)"),
            std::string::npos)
      << part;
  EXPECT_EQ(part.find("**the model**"), std::string::npos) << part;
  const std::string whole = replicate("dp.json.gz");
  EXPECT_NE(whole.find("**the model**"), std::string::npos) << whole;
}

// The file of rank 34 of 300 has one rank, not 35.
TEST(Narration, OfAStepCountsTheRanksThatTheTraceHas) {
  const auto step = [](const char* ranks) {
    const Model model = load_model(
        "rank34.json", fmt::format(R"({{"distributedInfo": {}, "traceEvents": [
      {{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#8", "pid": 1,
        "tid": 1, "ts": 0, "dur": 210000, "args": {{}}}}]}})",
                                   ranks));
    const State state = state_at(model, at_event(model, 0));
    return narrate(model, state, break_down(model, 0), english()).text;
  };
  EXPECT_EQ(step(R"({"rank": 34, "world_size": 300})"),
            "**Step 8** takes **210 ms** on rank 34.");
  EXPECT_EQ(step("{}"), "**Step 8** takes **210 ms**.");
}

TEST(Narration, OfEachEventOfRecordedRuns) {
  for (const char* name : {"dp.json.gz", "dp_features.json.gz", "single.json.gz",
                           "ddp.json.gz", "pipeline.json.gz"}) {
    SCOPED_TRACE(name);
    const std::string path = (golden() / "viewer" / name).string();
    const Model model = load_model(name, tracer::read_whole_file(path));
    EXPECT_GT(model.events.size(), 500u);
    expect_readable(model);
  }
}

}  // namespace
}  // namespace lockstep::gui
