// Steps as a program records them: two threads, arguments of every kind, marks, memory.
#pragma once

#include <array>
#include <thread>

#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep::tracer::recorded {

inline Trace description() {
  RunFacts facts;
  facts.command = "lockstep train";
  facts.mode = "dp";
  facts.arch = "toy";
  facts.devices = {"cpu:0", "cpu:1"};
  facts.rank = -1;
  add_source("recorded/steps.cpp", "void step() {}\n");
  return describe_run(facts);
}

/// A kernel with its operation, a mark at its end and a memory counter.
inline void make_task(int64_t step) {
  set_step(step);
  HostEvent op("op", "aten::conv2d");
  const std::array<int64_t, 4> shapes{1, 8, 1, 9};
  const std::array<int64_t, 3> values{4, 5, 6};
  op.arg(Arg::shapes(keys::shapes, shapes)).arg({"flops", int64_t{77}});
  op.arg(Arg::integers("values", values)).arg({"share", 0.25}).arg({"first", true});
  op.arg(Arg::texts("names", "a\nb")).arg({"module", intern("layer1")});
  op.arg({keys::file, "recorded/steps.cpp"}).arg({keys::line, int64_t{1}});
  Record kernel{'X', "kernel", "conv", 1, 0};
  kernel.ts = now_ns();
  kernel.dur = 1;
  kernel.id = next_id();
  kernel.step = step;
  kernel.op = op.id();
  const std::array<Arg, 1> args{Arg(keys::phase, "forward")};
  const std::array<int64_t, 1> deps{kernel.id};
  append(kernel, args);
  mark("grad_ready", 1, 0, {}, kernel.id);
  Record copy = kernel;
  copy.cat = "copy";
  copy.lane = 1;
  copy.id = next_id();
  append(copy, {}, deps);
  Record memory{'C', "memory", "memory", 1, 0};
  memory.ts = now_ns();
  append(memory, std::array<Arg, 1>{Arg("weights", int64_t{1024})});
}

/// Steps [first, last), each with a task of another thread.
inline void make_steps(int64_t first, int64_t last) {
  start_recording();
  claim_device(1, 0);
  for (int64_t step = first; step < last; ++step) {
    set_step(step);
    const Phase phase("step", std::source_location());
    std::thread([step] {
      name_host_thread("replica cpu:1");
      make_task(step);
    }).join();
    make_task(step);
  }
}

}  // namespace lockstep::tracer::recorded
