// Machines as data: paths, fair shares, NCCL's choices, and programs on them. The
// vectors of the ring are computed by hand: 2 (N − 1) · 10 µs + 2 (N − 1) / N · bytes /
// 10 GB/s, for the buckets that PyTorch makes of each model.
#include "tracer/emulate/hardware/hardware.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "engine/plan/tree.h"
#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/emulate/hardware/nccl.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Hardware profile(const std::string& name) {
  const auto file = std::filesystem::path(LOCKSTEP_SOURCE_DIR) /
                    "tracer/emulate/hardware" / (name + ".json");
  return parse_hardware(text_of(file), name);
}

/// Devices around one switch: 10 µs and `gb_per_s` from each to each.
Hardware star(double gb_per_s, int devices = 8) {
  Hardware hardware{.name = "star", .description = "a switch", .source = "a test"};
  hardware.kinds = {{"link", "a test", LinkClass::pcie, gb_per_s, 5}};
  hardware.devices = devices;
  hardware.wires.push_back({"host", "switch", 0});
  for (int i = 0; i < devices; ++i) {
    hardware.wires.push_back({"gpu" + std::to_string(i), "switch", 0});
  }
  return hardware;
}

const Trace& step_on_one() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

Trace on_hardware(const std::string& mode, int devices, const Hardware& hardware,
                  double compute_scale = 1) {
  ConstructedProgram program;
  program.mode = mode;
  program.devices = devices;
  program.hardware = &hardware;
  EmulateOptions options;
  options.hardware = &hardware;
  options.compute_scale = compute_scale;
  return emulate(construct(step_on_one(), program), options);
}

std::string broken_laws(const Trace& trace) {
  std::string broken;
  for (const Finding& finding : check_trace(trace).findings) {
    if (!finding.ok) broken += finding.law + ": " + finding.message + "\n";
  }
  return broken;
}

int64_t length_of_step(const Trace& trace) {
  return join_ranks(find_steps(trace)).at(0).length();
}

TEST(Links, ARingTakesTheTimeOfItsFormula) {
  const std::vector<int64_t> resnet18{2'052'000, 28'852'224, 15'853'824};
  const std::vector<int64_t> cifar{9'461'800, 26'494'976, 8'739'072};
  const std::vector<int64_t> resnet50{8'196'000, 31'502'336, 26'255'360, 26'550'272,
                                      9'724'160};
  const std::vector<int64_t> vgg16{16'388'000, 67'125'248, 411'058'176,
                                   28'317'696, 28'319'744, 2'221'312};
  const auto times = [](const std::vector<int64_t>& buckets, int devices) {
    std::vector<double> result;
    for (const int64_t bytes : buckets) {
      result.push_back(ring_time(bytes, devices, 10, 10));
    }
    return result;
  };
  const auto expect = [](const std::vector<double>& times,
                         const std::vector<double>& expected) {
    ASSERT_EQ(times.size(), expected.size());
    for (size_t i = 0; i < times.size(); ++i) {
      EXPECT_NEAR(times[i], expected[i], 0.0006);
    }
  };
  expect(times(resnet18, 2), {225.200, 2905.222, 1605.382});
  expect(times(resnet18, 4), {367.800, 4387.834, 2438.074});
  expect(times(resnet18, 8), {499.100, 5189.139, 2914.419});
  expect(times(cifar, 2), {966.180, 2669.498, 893.907});
  expect(times(cifar, 4), {1479.270, 4034.246, 1370.861});
  expect(times(cifar, 8), {1795.815, 4776.621, 1669.338});
  const auto sum = [&](const std::vector<int64_t>& buckets, int devices) {
    const auto each = times(buckets, devices);
    return std::accumulate(each.begin(), each.end(), 0.0);
  };
  const std::map<int, std::pair<double, double>> sums{{2, {10'322.813, 55'463.018}},
                                                      {4, {15'634.219, 83'374.526}},
                                                      {8, {18'589.922, 97'690.281}}};
  for (const auto& [devices, expected] : sums) {
    EXPECT_NEAR(sum(resnet50, devices), expected.first, 0.001) << devices;
    EXPECT_NEAR(sum(vgg16, devices), expected.second, 0.001) << devices;
  }
}

// The same from messages: the paths have the latency of two links.
TEST(Links, EmulatedRingsTakeThatTime) {
  const Hardware hardware = star(10);
  const Trace trace = on_hardware("ddp", 8, hardware);
  std::map<int64_t, int64_t> taken;  // by collective
  for (const Event& event : trace.events) {
    const CopyFacts copy = copy_facts(event);
    if (!event.is(categories::copy) || !copy.is_message || copy.dst != 0 ||
        copy.why != reasons::all_reduce) {
      continue;
    }
    taken[copy.seq] += event.dur;
    EXPECT_EQ(string_arg(event.args, keys::via), "gpu7>switch>gpu0");
  }
  const std::vector<double> expected{1795.815, 4776.621, 1669.338};
  ASSERT_EQ(taken.size(), expected.size());
  size_t i = 0;
  for (const auto& [seq, time] : taken) {
    EXPECT_NEAR(static_cast<double>(time) / 1e3, expected[i++], 0.0006 * 14) << seq;
  }
}

TEST(Links, MessagesShareWhatTheyHaveInCommon) {
  const Hardware hardware = star(12);
  Topology topology(hardware, 4);
  const auto rates = [&](const std::vector<std::pair<int, int>>& routes) {
    std::vector<const Path*> paths;
    for (const auto& [from, to] : routes) paths.push_back(&topology.path(from, to));
    return fair_rates(paths, topology.segments());
  };
  EXPECT_EQ(rates({{0, 1}, {2, 3}, {3, 2}}), (std::vector<double>{12, 12, 12}));
  EXPECT_EQ(rates({{0, 1}, {0, 2}, {0, 3}}), (std::vector<double>{4, 4, 4}));
  // Device 1 receives two; what the third leaves in device 0's port goes to the second.
  EXPECT_EQ(rates({{0, 1}, {2, 1}, {3, 1}, {0, 2}}), (std::vector<double>{4, 4, 4, 8}));
}

TEST(Links, WithoutPeerToPeerMessagesBounceOffTheHost) {
  const Hardware pairs = profile("nvlink-pairs-2080ti");
  Topology topology(pairs, 4);
  EXPECT_EQ(topology.path(0, 1).via, "gpu0>gpu1");
  EXPECT_EQ(topology.path(1, 2).via, "gpu1>host>gpu2");
  EXPECT_EQ(topology.path(kHost, 3).via, "host>gpu3");
  const Hardware sockets = profile("two-sockets");
  Topology wide(sockets, 8);
  EXPECT_EQ(wide.path(0, 5).via, "gpu0>socket0>host>socket0>socket1>gpu5");
  // It passes the memory's bus twice: 24 GB/s for 12.
  const Path& bounced = wide.path(0, 1);
  EXPECT_EQ(fair_rates({&bounced}, wide.segments()), (std::vector<double>{12}));
  EXPECT_EQ(fair_rates({&bounced, &wide.path(2, 3)}, wide.segments()),
            (std::vector<double>{6, 6}));
}

TEST(Links, MachinesAreConnectedByTheNetwork) {
  const Hardware dgx = profile("dgx-a100");
  Topology topology(dgx, 16);
  EXPECT_EQ(topology.path(7, 6).via, "gpu7>nvswitch>gpu6");
  EXPECT_EQ(topology.path(7, 8).via, "gpu7>switch3>host>network>host@1>switch0@1>gpu8");
  EXPECT_EQ(topology.path(7, 8).link_class, LinkClass::network);
  EXPECT_EQ(topology.path(kHost, 9).via, "host@1>switch0@1>gpu9");
}

TEST(Nccl, TheChoiceIsTheFastestByItsFormula) {
  const Hardware dgx = profile("dgx-a100");
  Topology topology(dgx, 8);
  const RingOfDevices ring = ring_of(topology, dgx, 8);
  EXPECT_EQ(ring.gb_per_s, 235);
  EXPECT_EQ(choose_all_reduce(64, ring, dgx).protocol, "LL");
  EXPECT_EQ(choose_all_reduce(400 << 20, ring, dgx).algorithm, "ring");
  EXPECT_EQ(choose_all_reduce(400 << 20, ring, dgx).protocol, "Simple");
  // 8.4 + 14 · 3.4 + 14/8 · 4,194,304 B / 235 GB/s
  EXPECT_NEAR(nccl_time("ring", "Simple", 4 << 20, ring), 87.234, 0.001);
  // 6.6 + 14 · 0.6 + 14/8 · 64 B / (235 GB/s / 2)
  EXPECT_NEAR(nccl_time("ring", "LL", 64, ring), 15.001, 0.001);
  // With many machines, a small sum takes fewer hops along a tree.
  Topology many(dgx, 64);
  EXPECT_EQ(choose_all_reduce(64, ring_of(many, dgx, 64), dgx).algorithm, "tree");
  const Hardware plain = star(10);
  EXPECT_EQ(choose_all_reduce(64, ring, plain).protocol, "");
}

TEST(Nccl, ATreeSendsEveryPieceUpAndDownOnce) {
  for (const int world : {1, 2, 5, 8, 16, 24}) {
    const auto parents = plan::tree_parents(world, 4);
    const auto sends = plan::tree_all_reduce(parents, 3);
    EXPECT_EQ(sends.size(), 2u * 3 * (world - 1));
    for (size_t i = 0; i < sends.size(); ++i) {
      const bool up = parents[sends[i].from] == sends[i].to;
      size_t children = 0;
      for (const int parent : parents) children += parent == sends[i].from ? 1 : 0;
      EXPECT_EQ(sends[i].after.size(), up || sends[i].from == 0 ? children : 1);
      for (const size_t before : sends[i].after) {
        ASSERT_LT(before, i);
        EXPECT_EQ(sends[before].to, sends[i].from);
        EXPECT_EQ(sends[before].piece, sends[i].piece);
        EXPECT_LT(sends[before].step, sends[i].step);
      }
    }
  }
}

TEST(OnHardware, ProgramsObeyEveryLawAndKeepTheirTimes) {
  for (const auto& [mode, devices, name] : {std::tuple{"dp", 3, "nvlink-pairs-2080ti"},
                                            {"dp", 4, "dgx-a100"},
                                            {"dp", 4, "pcie3-switch"},
                                            {"ddp", 4, "two-sockets"},
                                            {"ddp", 16, "dgx-a100"},
                                            {"ddp", 3, "infiniband-56g"}}) {
    const Hardware hardware = profile(name);
    const Trace trace = on_hardware(mode, devices, hardware);
    EXPECT_EQ(broken_laws(trace), "") << mode << devices << name;
    EmulateOptions same;
    same.measured_durations = true;
    const Trace again = emulate(trace, same);
    for (size_t i = 0; i < trace.events.size(); ++i) {
      ASSERT_EQ(trace.events[i].ts, again.events[i].ts) << trace.events[i].name;
      ASSERT_EQ(trace.events[i].dur, again.events[i].dur) << trace.events[i].name;
    }
  }
}

// Never faster than without links, nor than the busiest port permits; never slower than
// one thing after another; faster links never make it slower.
TEST(OnHardware, StepsAreBoundedAndFasterLinksDoNotSlowThem) {
  const Hardware free = star(1e6);
  for (const char* mode : {"dp", "ddp"}) {
    const int64_t least = length_of_step(on_hardware(mode, 4, free));
    int64_t before = INT64_MAX;
    for (const double gb_per_s : {0.1, 1.0, 12.0, 300.0}) {
      const Hardware hardware = star(gb_per_s);
      const Trace trace = on_hardware(mode, 4, hardware);
      const int64_t length = length_of_step(trace);
      EXPECT_LE(length, before) << mode << gb_per_s;
      EXPECT_GE(length, least - 8 * 10'000) << mode << gb_per_s;
      std::map<int64_t, double> sent;
      double serial = static_cast<double>(least);
      for (const Event& event : trace.events) {
        if (!event.is(categories::copy)) continue;
        const double bytes = number_arg(event.args, keys::bytes);
        sent[copy_facts(event).src] += bytes;
        serial += 10'000 + bytes / gb_per_s;
      }
      for (const auto& [device, bytes] : sent) {
        EXPECT_GE(static_cast<double>(length), bytes / gb_per_s) << device;
      }
      EXPECT_LE(static_cast<double>(length), serial) << mode << gb_per_s;
      before = length;
    }
  }
}

// NCCL's broadcast and reduce let each device hand the bytes on; peer copies all pass
// device 0. On this machine they take longer, and the trace says which it is.
TEST(OnHardware, GroupsGoAlongAChainOrThroughDevice0) {
  Hardware hardware = star(12);
  const Trace peers = on_hardware("dp", 4, hardware);
  hardware.nccl = true;
  const Trace nccl = on_hardware("dp", 4, hardware);
  EXPECT_EQ(broken_laws(nccl), "");
  const auto way = [](const Trace& trace) {
    return string_arg(trace.lockstep[top::constructed], "replicate");
  };
  EXPECT_EQ(way(peers), "peer copies");
  EXPECT_EQ(way(nccl), "nccl broadcast");
  EXPECT_LT(length_of_step(nccl), length_of_step(peers));
  const auto through_device0 = [](const Trace& trace, std::string_view why) {
    double bytes = 0;
    for (const Event& event : trace.events) {
      if (!event.is(categories::copy) || copy_facts(event).why != why) continue;
      const CopyFacts copy = copy_facts(event);
      if (copy.src == 0 || copy.dst == 0) bytes += static_cast<double>(copy.bytes);
    }
    return bytes;
  };
  for (const char* why : {reasons::replicate, reasons::reduce}) {
    EXPECT_GT(through_device0(nccl, why), 0) << why;
    EXPECT_EQ(through_device0(peers, why), 3 * through_device0(nccl, why)) << why;
  }
  const std::string assumed = string_arg(nccl.lockstep[top::emulation], "assumed");
  EXPECT_NE(assumed.find("reduced as by NCCL"), assumed.npos) << assumed;
  EXPECT_NE(assumed.find("on the links of star"), assumed.npos) << assumed;
}

// Each further replica costs the host its time for every parameter. Fast devices wait
// for it.
TEST(OnHardware, MakingReplicasTakesTheHostTime) {
  Hardware hardware = star(300);
  const auto length = [&] {
    return length_of_step(on_hardware("dp", 3, hardware, 1000));
  };
  const int64_t before = length();
  hardware.host.replica_us_per_parameter = 1000;
  const int64_t parameters = 62;  // of ResNet18
  EXPECT_NEAR(static_cast<double>(length() - before), 2e6 * parameters, 1e6);
  hardware.host.replicate_us_per_parameter = 500;
  EXPECT_NEAR(static_cast<double>(length() - before), 2.5e6 * parameters, 1e6);
}

// Three threads that take turns are three times as slow, each.
TEST(OnHardware, ReplicasTakeTurnsUnderAnInterpreterLock) {
  Hardware hardware = star(300);
  const auto of_replica = [&](int replica) {
    const Trace trace = on_hardware("dp", 3, hardware, 1e6);
    std::vector<int64_t> lengths;
    for (const Event& event : trace.events) {
      if (event.name == "ResNet.__call__") lengths.push_back(event.dur);
    }
    return lengths.at(replica);
  };
  const int64_t alone = of_replica(2);
  hardware.host.interpreter_lock = true;
  EXPECT_EQ(of_replica(2), 3 * alone);
}

TEST(OnHardware, CheckRejectsALinkThatCarriesTooMuch) {
  const Hardware hardware = star(10);
  Trace trace = on_hardware("dp", 3, hardware);
  for (Event& event : trace.events) {
    if (event.is(categories::copy)) event.dur /= 2;
  }
  EXPECT_NE(broken_laws(trace).find("ports: 2 copies move"), std::string::npos)
      << broken_laws(trace);
  trace = on_hardware("ddp", 2, hardware);
  for (Event& event : trace.events) {
    if (event.args.contains(keys::via)) event.args[keys::via] = "gpu0>gpu1";
  }
  EXPECT_NE(broken_laws(trace).find("gpu0 to gpu1, which are not connected"),
            std::string::npos)
      << broken_laws(trace);
}

// What is not known comes first, unless an option says it.
TEST(Profiles, SayFirstWhatTheyLack) {
  Hardware hardware = star(12);
  EmulateOptions options;
  options.hardware = &hardware;
  const auto said = [&] { return assumptions_from(step_on_one(), options); };
  EXPECT_TRUE(said().starts_with(
      "star does not say what DataParallel's replicas cost the host (taken as "
      "nothing), nor how much collectives slow kernels down (taken as not at all); "))
      << said();
  hardware.host.source = "a test";
  options.interference = 1.05;
  EXPECT_TRUE(said().starts_with("each kernel")) << said();
}

// With the same kernels, faster links never slow a step: each profile has what
// replicas cost its host.
TEST(Profiles, NvlinkIsNotSlowerThanPcie) {
  const Hardware nvlink = profile("dgx-a100");
  for (const char* mode : {"dp", "ddp"}) {
    for (const double compute_scale : {1.0, 100.0}) {
      const int64_t fast = length_of_step(on_hardware(mode, 4, nvlink, compute_scale));
      for (const char* name :
           {"v100-pcie", "p100-pcie", "pcie3-switch", "two-sockets"}) {
        EXPECT_LE(fast,
                  length_of_step(on_hardware(mode, 4, profile(name), compute_scale)))
            << mode << " " << name;
      }
    }
  }
}

TEST(Profiles, AreSoundAndNameTheirSources) {
  const auto folder =
      std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tracer/emulate/hardware";
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const Hardware hardware = profile(entry.path().stem());
    EXPECT_EQ(hardware.name, entry.path().stem());
    EXPECT_GT(hardware.host.replica_us_per_parameter, 0) << hardware.name;
    EXPECT_NE(hardware.host.source, "") << hardware.name;
    Topology topology(hardware, hardware.devices);
    for (int64_t src = kHost; src < hardware.devices; ++src) {
      for (int64_t dst = kHost; dst < hardware.devices; ++dst) {
        if (src == dst) continue;
        EXPECT_FALSE(topology.path(src, dst).segments.empty());
      }
    }
    ++found;
  }
  EXPECT_EQ(found, 7);
}

TEST(Profiles, SayWhatIsWrong) {
  const auto reason = [](const std::string& text) -> std::string {
    try {
      parse_hardware(text, "x.json");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  const std::string begin = R"({"name":"a","description":"b","source":"c",)";
  const std::string link =
      R"("links":{"l":{"class":"pcie","gb_per_s":1,"latency_us":0,"source":"s"}},)";
  EXPECT_NE(reason(begin + R"("replica_us_per_parameter":1})")
                .find("the profile has an unknown key `replica_us_per_parameter`; fix: "
                      "one of name, description"),
            std::string::npos);
  EXPECT_NE(reason(begin + R"("links":{"l":{"gbps":1}}})")
                .find("link `l` has an unknown key `gbps`; fix: one of class"),
            std::string::npos);
  EXPECT_NE(reason("[]").find("x.json: it is not a JSON object"), std::string::npos);
  EXPECT_NE(reason("{}").find("has no text `name`; fix: add it"), std::string::npos);
  EXPECT_NE(reason(begin + R"("links":{"l":{"class":"pcie","source":"s"}}})")
                .find("link `l` has no number `gb_per_s` above 0"),
            std::string::npos);
  EXPECT_NE(reason(begin + R"("links":{"l":{"class":"usb","source":"s"}}})")
                .find("link `l` is of class 'usb'; fix: write `pcie`"),
            std::string::npos);
  EXPECT_NE(reason(begin + link + R"("machine":{"devices":1.5,"wires":[]}})")
                .find("`devices` is not a whole number"),
            std::string::npos);
  EXPECT_NE(reason(begin + link +
                   R"("machine":{"devices":1,"wires":[{"from":["gpu0"],)"
                   R"("to":["host"],"link":"m"}]}})")
                .find("the link `m`, which is not among `links`"),
            std::string::npos);
  const Hardware pairs = profile("nvlink-pairs-2080ti");
  EXPECT_THROW(Topology(pairs, 5), std::runtime_error);
  Hardware cut = star(1);
  cut.wires.pop_back();
  Topology topology(cut, 8);
  EXPECT_THROW(topology.path(0, 7), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::tracer
