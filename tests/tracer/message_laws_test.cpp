// The laws of messages between ranks, on a recorded step of DistributedDataParallel:
// each damage is one that would be a race or wrong sums, and each is named.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tracer/golden.h"
#include "tracer/analysis/check.h"
#include "tracer/format/keys.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {
namespace {

class RecordedRing : public ::testing::Test {
 protected:
  /// Returns the messages of the first all-reduce of several, by receiver and step.
  Event& message(int64_t dst, int64_t step) {
    return find([&](const Event& event) {
      return event.is("copy") && string_arg(event.args, "tensor") == "bucket 0" &&
             int_arg(event.args, "dst", kNone) == dst &&
             int_arg(event.args, "ring_step", kNone) == step;
    });
  }
  Event& bucket(int64_t device) {
    return find([&](const Event& event) {
      return event.is("collective") && string_arg(event.args, "tensor") == "bucket 0" &&
             int_arg(event.args, "device", kNone) == device;
    });
  }
  template <typename Matches>
  Event& find(Matches matches) {
    const auto found =
        std::find_if(trace_.events.begin(), trace_.events.end(), matches);
    if (found == trace_.events.end()) throw std::runtime_error("no such event");
    return *found;
  }

  /// Expects that this law, and only this one, is broken, at this event.
  void expect_only(const std::string& law, const Event& at, const std::string& says) {
    const CheckReport report = check_trace(trace_);
    bool named = false;
    for (const Finding& finding : report.findings) {
      if (finding.ok) continue;
      EXPECT_EQ(finding.law, law) << finding.message;
      named |=
          finding.event == at.id && finding.message.find(says) != std::string::npos;
    }
    EXPECT_TRUE(named) << check_text(report);
  }

  Trace trace_ = read_trace(testing::golden() / "viewer/ddp.json.gz");
};

TEST_F(RecordedRing, IsWhole) { EXPECT_TRUE(check_trace(trace_).ok()); }

TEST_F(RecordedRing, StepsThatAreSwapped) {
  Event &first = message(0, 0), &second = message(0, 1);
  first.args["ring_step"] = 1;
  second.args["ring_step"] = 0;
  const CheckReport report = check_trace(trace_);
  const auto broken = std::find_if(
      report.findings.begin(), report.findings.end(),
      [&](const Finding& f) { return f.law == "ring-steps" && f.event == first.id; });
  ASSERT_NE(broken, report.findings.end()) << check_text(report);
  EXPECT_NE(broken->message.find("has `ring_step` 1, expected 0"), std::string::npos);
}

TEST_F(RecordedRing, AForwardedMessageThatWaitsForNothing) {
  Event& second = message(0, 1);
  second.deps.clear();
  expect_only("ring-forwarding", second, "receives what it passes on");
}

TEST_F(RecordedRing, ABucketThatDoesNotWaitForItsLastPackingKernel) {
  Event& call = bucket(1);
  const Event* last = nullptr;  // the last kernel that it waits for packs
  const auto ends_later = [&](const Event& event) {
    return std::find(call.deps.begin(), call.deps.end(), event.id) != call.deps.end() &&
           (!last || last->ts < event.ts);
  };
  for (const Event& event : trace_.events) {
    if (ends_later(event)) last = &event;
  }
  ASSERT_NE(last, nullptr);
  ASSERT_EQ(last->name, "scale");
  erase_if(call.deps, [&](int64_t id) { return id == last->id; });
  expect_only("collective-deps", call,
              "does not wait for kernel `scale` #" + std::to_string(last->id));
}

TEST_F(RecordedRing, AnotherOrderOfParametersOnOneRank) {
  Event& call = bucket(1);
  Json params = call.args["params"];
  ASSERT_GE(params.size(), 2u);
  std::swap(params[0], params[1]);
  call.args["params"] = params;
  expect_only("ranks-agree", call, "rank 1: parameter 0 of all_reduce #");
}

TEST_F(RecordedRing, TheTypeOfAMessage) {
  Event& first = message(1, 0);
  first.args["dtype"] = "int32";
  expect_only("messages-agree", first, "is `int32`, expected `float32`");
}

TEST_F(RecordedRing, TheReasonOfAMessage) {
  Event& first = message(1, 0);
  first.args["why"] = "gather";
  expect_only("messages-agree", first, "is `gather`, expected `all_reduce`");
}

}  // namespace
}  // namespace lockstep::tracer
