// `check` accepts the hand-written traces, and rejects each damaged copy with the law
// in its name, and a message (damaged_copies.h). minimal.json is a step of DataParallel
// on two devices; named_events.h describes how its events are addressed:
//
//   step 0
//     forward
//       DataParallel.__call__
//         Scatter
//           scatter images@cpu:0
//           scatter images@cpu:1
//         Broadcast
//           replicate parameters@cpu:1
//           replicate buffers@cpu:1
//         aten::linear#1
//           aten::linear@cpu:0
//         aten::linear#2  [replica 1]
//           aten::linear@cpu:1
//         wait for replicas
//         Gather
//           gather outputs@cpu:0
//     aten::to
//       labels to device 0@cpu:0
//     backward
//       GatherBackward
//         gradient of outputs@cpu:1
//       AddmmBackward0#1
//         AddmmBackward0@cpu:0
//       AddmmBackward0#2
//         AddmmBackward0@cpu:1
//           grad_ready@cpu:1
//       BroadcastBackward
//         reduce gradients@cpu:0
//     aten::item
//       wait for the loss
//       loss to the host  [copies to the host]
//
// minimal_ddp.json is a step of DistributedDataParallel on two ranks:
//
//   rank 0
//     step 0
//       h2d
//         aten::to
//           h2d images@cpu:0
//           h2d labels@cpu:0
//       forward
//         broadcast
//           c10d::broadcast_
//             broadcast@cpu:0
//         aten::linear
//           linear@cpu:0
//       backward
//         AddmmBackward0
//           linear_backward_weight@cpu:0
//             grad_ready@cpu:0
//         all_reduce
//           c10d::allreduce_
//             all_reduce@cpu:0
//               all_reduce@cpu:0#1
//               all_reduce@cpu:0#2
//       synchronize
//   rank 1
//     step 0
//       h2d
//         aten::to
//           h2d images@cpu:1
//           h2d labels@cpu:1
//       forward
//         broadcast
//           c10d::broadcast_
//             broadcast@cpu:1
//               broadcast@cpu:1
//         aten::linear
//           linear@cpu:1
//       backward
//         AddmmBackward0
//           linear_backward_weight@cpu:1
//             grad_ready@cpu:1
//         all_reduce
//           c10d::allreduce_
//             all_reduce@cpu:1
//               all_reduce@cpu:1#1
//               all_reduce@cpu:1#2
//       synchronize
// sanitize: address
#include "tracer/analysis/check.h"

#include <algorithm>
#include <map>
#include <set>

#include "tests/tracer/damaged_copies.h"
#include "tests/tracer/named_trace.h"
#include "tracer/format/args.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {
namespace {

using namespace testing;  // NOLINT

std::string joined(const std::set<std::string>& laws) {
  std::string text;
  for (const std::string& law : laws) text += (text.empty() ? "" : ", ") + law;
  return text;
}

/// The laws that a trace violates: "gather-bytes, reduce-bytes"; "" if it is accepted.
std::string broken_laws(const Trace& trace) {
  std::set<std::string> laws;
  for (const Finding& finding : check_trace(trace).findings) {
    if (!finding.ok) laws.insert(finding.law);
  }
  return joined(laws);
}

/// The violations that `check` reports, for the message of a failing test.
std::string objections(const Trace& trace) {
  std::istringstream lines(check_text(check_trace(trace)));
  std::string text = "`trace check` says:\n";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("ok ")) text += "  " + line + '\n';
  }
  return text;
}

TEST(Check, AcceptsTheTracesWrittenByHand) {
  const Trace dp = read_trace(minimal_path()), ddp = read_trace(minimal_ddp_path());
  expect_header_shows("tests/tracer/check_test.cpp", NamedTrace(dp));
  expect_header_shows("tests/tracer/check_test.cpp", NamedTrace(ddp));
  EXPECT_EQ(broken_laws(dp), "") << objections(dp);
  EXPECT_EQ(broken_laws(ddp), "") << objections(ddp);
}

using Reasons = std::map<std::string, std::string>;

/// Expects that every law checks something in a trace, except the listed laws.
void expect_judged(const Trace& trace, const Reasons& nothing_to_judge) {
  for (const Finding& finding : check_trace(trace).findings) {
    const bool none = finding.message.find("(0 checked)") != std::string::npos;
    const auto reason = nothing_to_judge.find(finding.law);
    const bool expected = reason != nothing_to_judge.end();
    EXPECT_EQ(none, expected) << finding.law << ": " << finding.message << '\n'
                              << (expected ? reason->second : "must find something");
  }
}

TEST(Check, EveryLawHadSomethingToJudge) {
  const char* const kMeasuredClock = "recorded copies share links as they did";
  expect_judged(read_trace(minimal_path()),
                {{"images-h2d", "images are scattered from the host, not copied"},
                 {"ports", kMeasuredClock}});
  const char* const of_dp = "DataParallel's copies; ranks have none";
  expect_judged(read_trace(minimal_ddp_path()),
                {{"chunks", "a rank does not cut its batch"},
                 {"images-h2d", "images-h2d-of-ranks judges them"},
                 {"labels-h2d", "images-h2d-of-ranks judges them"},
                 {"scatter-bytes", of_dp},
                 {"gather-bytes", of_dp},
                 {"grad-scatter-bytes", of_dp},
                 {"replicate-bytes", of_dp},
                 {"reduce-bytes", of_dp},
                 {"reduce-after-backward", of_dp},
                 {"sources-present", "no call names its source"},
                 {"memory-positive", "no memory counter"},
                 {"parent-contains", "each host has one thread"},
                 {"d2h-scalars", "no scalar is read"},
                 {"ports", kMeasuredClock},
                 {"halves-matched", "the ranks' files are merged: no half is left"}});
}

std::vector<Damage> all_damages() {
  std::vector<Damage> all = kDamagedDataParallel;
  for (const auto* more : {&kDamagedRing, &kDamagedGloo}) {
    all.insert(all.end(), more->begin(), more->end());
  }
  return all;
}

TEST(Check, EveryLawHasADamagedCopy) {
  std::set<std::string> damaged;
  for (const Damage& damage : all_damages()) damaged.insert(damage.law);
  for (const std::string& path : {minimal_path(), minimal_ddp_path()}) {
    for (const Finding& finding : check_trace(read_trace(path)).findings) {
      EXPECT_TRUE(damaged.contains(finding.law)) << finding.law;
    }
  }
}

TEST(Check, EveryDamagedCopyIsListed) {
  std::set<std::string> listed, files;
  for (const Damage& damage : all_damages()) listed.insert(file_of(damage));
  for (const auto& file : fs::directory_iterator(golden() / "damaged")) {
    files.insert(file.path().filename());
  }
  EXPECT_EQ(listed, files) << "damaged_copies.h must list the files of damage.py";
}

class Damaged : public ::testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsRejectedByTheRightLaw) {
  const Damage& damage = GetParam();
  const bool of_dp = std::any_of(
      kDamagedDataParallel.begin(), kDamagedDataParallel.end(),
      [&](const Damage& other) { return file_of(other) == file_of(damage); });
  const NamedTrace whole(read_trace(of_dp ? minimal_path() : minimal_ddp_path()));
  const Trace trace = read_trace(golden() / "damaged" / file_of(damage));
  const auto findings = check_trace(trace).findings;
  const auto objection = std::find_if(
      findings.begin(), findings.end(),
      [&](const Finding& finding) { return finding.law == damage.law && !finding.ok; });
  if (objection == findings.end()) {
    FAIL() << "The law `" << damage.law << "` must reject damaged/" << file_of(damage)
           << " and say:\n  " << damage.sentence << '\n'
           << objections(trace);
  }
  EXPECT_EQ(objection->message, damage.sentence);
  const auto path = [&](int64_t id) { return id == kNone ? "" : whole.path_of(id); };
  EXPECT_EQ(path(objection->event),
            path(*damage.event == '\0' ? kNone : whole[damage.event]));
  std::set<std::string> laws = {damage.law};
  std::istringstream follows(damage.follows);
  for (std::string law; std::getline(follows >> std::ws, law, ',');) laws.insert(law);
  EXPECT_EQ(broken_laws(trace), joined(laws)) << objections(trace);
}

INSTANTIATE_TEST_SUITE_P(Golden, Damaged, ::testing::ValuesIn(all_damages()),
                         [](const auto& info) {
                           std::string name = file_of(info.param);
                           name.resize(name.size() - 5);  // without ".json"
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

/// minimal.json, for tests that change individual events.
class ChangedTrace : public ::testing::Test {
 protected:
  Event& at(std::string_view path) { return event_at(trace_, names_, path); }
  int64_t id(std::string_view path) const { return names_[path]; }

  /// Removes these copies and the dependencies on them.
  void drop(const std::vector<std::string_view>& copies) {
    std::set<int64_t> gone;
    for (const std::string_view path : copies) gone.insert(id(path));
    const auto is_gone = [&](int64_t id) { return gone.contains(id); };
    std::erase_if(trace_.events, [&](const Event& e) { return is_gone(e.id); });
    for (Event& event : trace_.events) erase_if(event.deps, is_gone);
  }

  Trace trace_ = read_trace(minimal_path());
  const NamedTrace names_{trace_};
};

TEST_F(ChangedTrace, AnInterruptedStepNeedNotBalance) {
  drop({"reduce gradients@cpu:0", "gather outputs@cpu:0"});
  at("step 0").args["interrupted"] = true;
  EXPECT_EQ(broken_laws(trace_), "") << objections(trace_);
  at("step 0").args["interrupted"] = false;
  EXPECT_EQ(broken_laws(trace_), "gather-bytes, reduce-bytes");
}

TEST_F(ChangedTrace, EvaluationReplicatesButReducesNothing) {
  at("step 0").args["kind"] = "eval";
  drop({"backward"});
  // These events depended on the removed copy.
  at("gradient of outputs@cpu:1").cat = "kernel";
  at("reduce gradients@cpu:0").cat = "kernel";
  EXPECT_EQ(broken_laws(trace_), "") << objections(trace_);
}

TEST_F(ChangedTrace, FromDeviceZeroTheFirstChunkIsAView) {
  at("step 0").args["input_on"] = "device0";
  Event& whole_batch = at("scatter images@cpu:0");  // replaces chunk 0
  whole_batch.args["why"] = "h2d";
  whole_batch.args["bytes"] = 60;
  whole_batch.args["shape"] = {3, 5};
  at("scatter images@cpu:1").args["src"] = 0;
  EXPECT_EQ(broken_laws(trace_), "") << objections(trace_);
}

TEST_F(ChangedTrace, BytesGoToTheDevicesThatTheStepNames) {
  at("step 0").args["device_ids"] = {0, 1};
  at("step 0").args["output_device"] = 0;
  EXPECT_EQ(broken_laws(trace_), "") << objections(trace_);
  at("step 0").args["output_device"] = 1;
  EXPECT_EQ(broken_laws(trace_), "gather-bytes, grad-scatter-bytes, labels-h2d");
  at("step 0").args["device_ids"] = {1, 0};
  EXPECT_EQ(broken_laws(trace_),
            "gather-bytes, grad-scatter-bytes, labels-h2d, reduce-bytes, "
            "replicate-bytes, scatter-bytes");
}

TEST_F(ChangedTrace, WrappedFeaturesReplicateOnlyThemselves) {
  trace_.lockstep["mode"] = "dp-features";
  trace_.lockstep["model"]["parameter_bytes"] = 4000;
  at("step 0").args["wrapped_parameter_bytes"] = 48;
  EXPECT_EQ(broken_laws(trace_), "") << objections(trace_);
  trace_.lockstep["model"]["buffer_bytes"] = 80;
  EXPECT_EQ(broken_laws(trace_), "replicate-bytes");
}

TEST_F(ChangedTrace, SingleModeMovesTheWholeBatchAndNothingElse) {
  trace_.lockstep["mode"] = "single";
  at("step 0").args["chunks"] = {3};
  EXPECT_EQ(broken_laws(trace_),
            "gather-bytes, grad-scatter-bytes, images-h2d, reduce-bytes, "
            "replicate-bytes, scatter-bytes");
}

/// NCCL transfers along a chain of devices, not from device 0 to all.
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
    return broken_laws(trace);
  };
  const bool modelled = true;
  EXPECT_EQ(chained(modelled), "");
  EXPECT_EQ(chained(!modelled), "reduce-bytes, replicate-bytes");
}

TEST_F(ChangedTrace, UnknownModesAndCategoriesAreNotJudged) {
  trace_.lockstep["mode"] = "pipeline";
  at("reduce gradients@cpu:0").args["bytes"] = 48;
  at("wait for replicas").cat = "something_new";
  at("wait for the loss").cat = "something_new";
  EXPECT_EQ(broken_laws(trace_), "") << objections(trace_);
}

TEST_F(ChangedTrace, ABatchIsNotBegunBeforeThereIsRoom) {
  Event& fetch = at("DataParallel.__call__");  // inside step 0, before the wait
  fetch.name = kFetch;
  const auto begun_after = [&](const Json& after) {
    fetch.args["after"] = after;
    return broken_laws(trace_);
  };
  EXPECT_EQ(begun_after(id("step 0")), "");
  EXPECT_EQ(begun_after(id("wait for the loss")), "launch-order");
  EXPECT_EQ(begun_after(99), "references") << "no such event";
  EXPECT_EQ(begun_after("1"), "references") << "an id must be a number";
}

TEST_F(ChangedTrace, JsonNamesLawAndEvent) {
  at("reduce gradients@cpu:0").args["bytes"] = 40;
  const Json json = check_json(check_trace(trace_));
  EXPECT_EQ(json["ok"], false);
  const auto blames = [&](const Json& law) {
    return law["law"] == "reduce-bytes" && law["ok"] == false &&
           law["event"] == id("reduce gradients@cpu:0");
  };
  EXPECT_TRUE(std::any_of(json["laws"].begin(), json["laws"].end(), blames)) << json;
}

}  // namespace
}  // namespace lockstep::tracer
