// `check` accepts the trace written by hand, and rejects each damaged copy of it by the
// law that its name tells (tests/golden/damage.py).
#include "tracer/analysis/check.h"

#include <algorithm>
#include <set>

#include "tests/tracer/golden.h"
#include "tracer/format/args.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

std::set<std::string> broken_laws(const CheckReport& report) {
  std::set<std::string> laws;
  for (const Finding& finding : report.findings) {
    if (!finding.ok) laws.insert(finding.law);
  }
  return laws;
}

TEST(Check, AcceptsTheTracesWrittenByHand) {
  for (const std::string& path : {minimal_path(), minimal_ddp_path()}) {
    const CheckReport report = check_trace(read_trace(path));
    EXPECT_TRUE(report.ok()) << check_text(report);
  }
}

TEST(Check, EveryLawHadSomethingToJudge) {
  for (const Finding& finding : check_trace(read_trace(minimal_path())).findings) {
    const bool none = finding.message.find("(0 checked)") != std::string::npos;
    EXPECT_EQ(none, finding.law == "images-h2d") << finding.law;
  }
  const std::set<std::string> of_dp = {
      "chunks",          "images-h2d",   "labels-h2d",
      "scatter-bytes",   "gather-bytes", "grad-scatter-bytes",
      "replicate-bytes", "reduce-bytes", "reduce-after-backward"};
  // Nothing is written of these: no source, no memory, no scalar, no other thread.
  const std::set<std::string> unused = {"sources-present", "memory-positive",
                                        "parent-contains", "d2h-scalars"};
  for (const Finding& finding : check_trace(read_trace(minimal_ddp_path())).findings) {
    const bool none = finding.message.find("(0 checked)") != std::string::npos;
    const bool idle = of_dp.contains(finding.law) || unused.contains(finding.law) ||
                      finding.law == "halves-matched";
    EXPECT_EQ(none, idle) << finding.law;
  }
}

TEST(Check, EveryLawHasADamagedCopy) {
  std::set<std::string> damaged;
  for (const auto& file : fs::directory_iterator(golden() / "damaged")) {
    damaged.insert(file.path().stem().stem());
  }
  for (const std::string& path : {minimal_path(), minimal_ddp_path()}) {
    for (const Finding& finding : check_trace(read_trace(path)).findings) {
      EXPECT_TRUE(damaged.contains(finding.law)) << finding.law;
    }
  }
}

class Damaged : public ::testing::TestWithParam<std::string> {};

TEST_P(Damaged, IsRejectedByTheRightLaw) {
  const fs::path path = golden() / "damaged" / GetParam();
  const std::string law = path.stem().stem();
  const CheckReport report = check_trace(read_trace(path));
  const auto& findings = report.findings;
  const auto verdict = std::find_if(
      findings.begin(), findings.end(),
      [&](const Finding& finding) { return finding.law == law && !finding.ok; });
  ASSERT_NE(verdict, findings.end()) << check_text(report);
  EXPECT_FALSE(verdict->message.empty());
  // One damage may break laws that follow from it, but not half of them.
  EXPECT_LE(broken_laws(report).size(), 4u) << check_text(report);
}

std::vector<std::string> damaged_files() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(golden() / "damaged")) {
    names.push_back(file.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, Damaged, ::testing::ValuesIn(damaged_files()),
                         [](const auto& info) {
                           std::string name = info.param;
                           name.resize(name.size() - 5);  // without ".json"
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

/// The minimal trace with the step's arguments changed.
Trace with_step(void (*change)(Trace&, Event& step)) {
  Trace trace = read_trace(minimal_path());
  for (Event& event : trace.events) {
    if (event.name == "step") change(trace, event);
  }
  return trace;
}

void drop_copies(Trace& trace, const std::set<std::string>& reasons) {
  std::set<int64_t> gone;
  std::erase_if(trace.events, [&](const Event& event) {
    const bool drop = event.is("copy") && reasons.contains(event.args["why"]);
    if (drop) gone.insert(event.id);
    return drop;
  });
  const auto is_gone = [&](int64_t id) { return gone.contains(id); };
  for (Event& event : trace.events) erase_if(event.deps, is_gone);
}

TEST(Check, AnInterruptedStepNeedNotBalance) {
  Trace trace = with_step([](Trace& all, Event& step) {
    drop_copies(all, {"reduce", "gather"});
    step.args["interrupted"] = true;
  });
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
  trace.events.at(20).args["interrupted"] = false;
  const std::set<std::string> missing = {"gather-bytes", "reduce-bytes"};
  EXPECT_EQ(broken_laws(check_trace(trace)), missing);
}

TEST(Check, EvaluationReplicatesButReducesNothing) {
  const Trace trace = with_step([](Trace& all, Event& step) {
    step.args["kind"] = "eval";
    std::erase_if(all.events, [](const Event& e) { return e.name == "backward"; });
    for (Event& event : all.events) {  // the wait was for the copy that is gone now
      if (event.is("copy") && event.args["why"] == "grad_scatter") event.cat = "kernel";
      if (event.is("copy") && event.args["why"] == "reduce") event.cat = "kernel";
    }
  });
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
}

TEST(Check, FromDeviceZeroTheFirstChunkIsAView) {
  const Trace trace = with_step([](Trace& all, Event& step) {
    step.args["input_on"] = "device0";
    for (Event& event : all.events) {
      if (event.id == 20) {  // instead of chunk 0, the whole batch comes
        event.args["why"] = "h2d";
        event.args["bytes"] = 60;
        event.args["shape"] = {3, 5};
      }
      if (event.id == 21) event.args["src"] = 0;
    }
  });
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
}

TEST(Check, WrappedFeaturesReplicateOnlyThemselves) {
  Trace trace = with_step([](Trace& all, Event& step) {
    all.lockstep["mode"] = "dp-features";
    all.lockstep["model"]["parameter_bytes"] = 4000;
    step.args["wrapped_parameter_bytes"] = 48;
  });
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
  trace.lockstep["model"]["buffer_bytes"] = 80;
  EXPECT_EQ(broken_laws(check_trace(trace)), std::set<std::string>{"replicate-bytes"});
}

TEST(Check, SingleModeMovesTheWholeBatchAndNothingElse) {
  Trace trace = with_step([](Trace& all, Event& step) {
    all.lockstep["mode"] = "single";
    step.args["chunks"] = {3};
  });
  const std::set<std::string> expected = {"images-h2d",      "scatter-bytes",
                                          "replicate-bytes", "gather-bytes",
                                          "reduce-bytes",    "grad-scatter-bytes"};
  EXPECT_EQ(broken_laws(check_trace(trace)), expected);
}

/// What NCCL moves goes along a chain of devices, not from device 0 to all.
TEST(Check, ALibrarysBytesGoAlongAChain) {
  const auto chained = [](bool modelled) {
    Trace trace = read_trace(golden() / "viewer/dp.json.gz");
    for (Event& event : trace.events) {
      const std::string why = string_arg(event.args, "why");
      if (!event.is("copy") || (why != "replicate" && why != "reduce")) continue;
      const int64_t src = event.args["src"], dst = event.args["dst"];
      if (why == "replicate") {
        event.args["src"] = dst - 1;
      } else {
        event.args["dst"] = event.args["device"] = src - 1;
        event.pid += src - 1 - dst;  // the receiver's lane
      }
      if (modelled) event.args["modelled"] = true;
    }
    return broken_laws(check_trace(trace));
  };
  EXPECT_FALSE(chained(true).contains("replicate-bytes"));
  EXPECT_FALSE(chained(true).contains("reduce-bytes"));
  EXPECT_FALSE(chained(true).contains("copies-on-receiver"));
  EXPECT_TRUE(chained(false).contains("replicate-bytes"));
  EXPECT_TRUE(chained(false).contains("reduce-bytes"));
}

TEST(Check, UnknownModesAndCategoriesAreNotJudged) {
  Trace trace = read_trace(minimal_path());
  trace.lockstep["mode"] = "pipeline";
  for (Event& event : trace.events) {
    if (event.name == "reduce gradients") event.args["bytes"] = 48;
    if (event.is("sync")) event.cat = "something_new";
  }
  EXPECT_TRUE(check_trace(trace).ok()) << check_text(check_trace(trace));
}

TEST(Check, ABatchIsNotBegunBeforeThereIsRoom) {
  const auto broken = [](const Json& after) {
    Trace trace = read_trace(minimal_path());
    for (Event& event : trace.events) {
      if (event.id != 3) continue;  // a call inside step 1, before sync 17
      event.name = kFetch;
      event.args["after"] = after;
    }
    std::set<std::string> laws;
    for (const Finding& finding : check_trace(trace).findings) {
      if (!finding.ok) laws.insert(finding.law);
    }
    return laws;
  };
  EXPECT_EQ(broken(1), std::set<std::string>{});
  EXPECT_EQ(broken(17), std::set<std::string>{"launch-order"});
  EXPECT_EQ(broken(99), std::set<std::string>{"references"});
  EXPECT_EQ(broken("1"), std::set<std::string>{"references"});
}

TEST(Check, JsonNamesLawAndEvent) {
  const auto path = golden() / "damaged/reduce-bytes.bytes.json";
  const Json json = check_json(check_trace(read_trace(path)));
  EXPECT_EQ(json["ok"], false);
  const auto blames = [](const Json& law) {
    return law["law"] == "reduce-bytes" && law["ok"] == false && law["event"] == 32;
  };
  EXPECT_TRUE(std::any_of(json["laws"].begin(), json["laws"].end(), blames)) << json;
}

}  // namespace
}  // namespace lockstep::tracer
