// A batch between two recorded ones: times, bytes and FLOPs lie on the line between
// theirs, and nothing is said of batches outside.
#include "tracer/emulate/construct/recorded_batches.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/tracer/twice_the_batch.h"
#include "tracer/analysis/check.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

const Trace& eight_images() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

/// Kernels take three times as long for twice the batch.
const Trace& sixteen_images() {
  static const Trace made = testing::twice_the_batch(eight_images(), 3);
  return made;
}

TEST(RecordedBatches, LieOnALine) {
  const RecordedStep low = recorded_step(eight_images());
  for (const int64_t batch : {8, 11, 14, 16}) {
    const RecordedStep step =
        step_with_batch(sixteen_images(), {&eight_images()}, batch);
    EXPECT_EQ(step.batch, batch);
    ASSERT_EQ(step.events.size(), low.events.size());
    const double share = static_cast<double>(batch - 8) / 8;
    for (size_t i = 0; i < low.events.size(); ++i) {
      const Event &event = step.events[i], &recorded = low.events[i];
      if (!event.is(categories::kernel)) continue;
      EXPECT_NEAR(kernel_facts(event).cpu,
                  static_cast<double>(kernel_facts(recorded).cpu) * (1 + 2 * share), 2);
      EXPECT_EQ(int_arg(event.args, keys::flops),
                int_arg(recorded.args, keys::flops) / 8 * batch);
    }
  }
}

// The first step of a run has other operations than the rest, whatever its length.
TEST(RecordedBatches, AreOfStepsThatPlanNoKernels) {
  Trace trace = read_trace(std::string(LOCKSTEP_SOURCE_DIR) +
                           "/lessons/20-emulation/trace.json.gz");
  const int64_t shorter = recorded_step(trace).number;
  const auto plan_in = [&](int64_t step) {
    for (Event event : trace.events) {
      if (!event.is(categories::op) || event.step != step) continue;
      event.name = "lockstep::create_plan";
      trace.events.push_back(event);
      return;
    }
  };
  plan_in(shorter);
  const int64_t other = recorded_step(trace).number;
  EXPECT_NE(other, shorter);
  plan_in(other);
  EXPECT_EQ(recorded_step(trace).number, shorter) << "there are no others";
}

std::string why_not(const Trace& trace, const ConstructedProgram& program) {
  try {
    construct(trace, program);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

ConstructedProgram program_of(const char* mode, int devices, int64_t batch) {
  ConstructedProgram program;
  program.mode = mode;
  program.devices = devices;
  program.batch = batch;
  program.further = {&sixteen_images()};
  return program;
}

/// The sum of the kernels' own times (ns).
int64_t kernel_time(const std::vector<Event>& events) {
  int64_t sum = 0;
  for (const Event& event : events) {
    if (event.is(categories::kernel)) sum += kernel_facts(event).cpu;
  }
  return sum;
}

TEST(RecordedBatches, OfOneDevice) {
  const RecordedStep twelve = step_with_batch(sixteen_images(), {&eight_images()}, 12);
  const Trace made = emulate(construct(eight_images(), program_of("single", 1, 12)));
  EXPECT_TRUE(check_trace(made).ok());
  EXPECT_EQ(string_arg(made.lockstep, top::mode), "single");
  EXPECT_EQ(kernel_time(made.events), kernel_time(twelve.events));
  EXPECT_EQ(construction(made),
            "constructed from the median training step of one device: it repeats it "
            "with a batch of 12; batches of 8, 16 were recorded: the times of a batch "
            "between two of them lie on a line between theirs");
  EXPECT_NE(why_not(eight_images(), program_of("single", 2, 0)).find("has one device"),
            std::string::npos);
}

TEST(RecordedBatches, OutsideNothingIsKnown) {
  EXPECT_NE(why_not(eight_images(), program_of("ddp", 2, 14)).find("recorded is 8, 16"),
            std::string::npos);
  EXPECT_NE(why_not(eight_images(), program_of("dp", 2, 34)).find("batch of 17"),
            std::string::npos);
  EXPECT_NE(why_not(eight_images(), program_of("ddp", 2, 25)).find("multiple of 2"),
            std::string::npos);
  Trace other = sixteen_images();
  other.lockstep[top::arch] = "vgg16";
  ConstructedProgram program = program_of("dp", 2, 24);
  program.further = {&other};
  EXPECT_NE(why_not(eight_images(), program).find("one network"), std::string::npos);
}

TEST(RecordedBatches, ProgramsObeyEveryLaw) {
  // 25 images are cut into 9, 9 and 7: too few for the last device.
  EXPECT_NE(why_not(eight_images(), program_of("dp", 3, 25)), "");
  for (const auto& program : {program_of("dp", 3, 38), program_of("dp", 2, 25),
                              program_of("ddp", 4, 48), program_of("dp", 1, 12)}) {
    const bool possible = why_not(eight_images(), program).empty();
    EXPECT_EQ(possible, true) << why_not(eight_images(), program);
    if (!possible) continue;
    const Trace trace = emulate(construct(eight_images(), program));
    for (const Finding& finding : check_trace(trace).findings) {
      EXPECT_TRUE(finding.ok) << program.mode << ": " << finding.message;
    }
    const std::string assumed = trace.lockstep[top::emulation]["assumed"];
    EXPECT_NE(assumed.find("batches of 8, 16"), assumed.npos);
  }
}

// Recordings of other batches may be of steps with other numbers.
TEST(RecordedBatches, AProgramIsOneStep) {
  Trace later = sixteen_images();
  for (Event& event : later.events) {
    if (event.step != kNone) event.step += 3;
  }
  ConstructedProgram program = program_of("dp", 2, 25);  // 13 are nearer to 16
  program.further = {&later};
  const Trace trace = construct(eight_images(), program);
  std::set<int64_t> numbers;
  for (const Event& event : trace.events) {
    if (event.ph == 'X') numbers.insert(event.step);
  }
  EXPECT_EQ(numbers.size(), 1u);
}

}  // namespace
}  // namespace lockstep::tracer
