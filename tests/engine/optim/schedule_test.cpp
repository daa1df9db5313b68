// Learning rates are those that PyTorch's schedules set.
#include "engine/optim/schedule.h"

#include "tests/engine/values.h"

namespace lockstep {
namespace {

using optim::Schedule;
using test::Json;

/// Returns the schedules of tests/golden/torch/schedules.py.
std::map<std::string, Schedule> schedules() {
  using Kind = Schedule::Kind;
  const Schedule one_cycle{.kind = Kind::one_cycle};
  Schedule options = one_cycle, falls = one_cycle;
  options.pct_start = 0.6;
  options.div_factor = 7;
  options.final_div_factor = 50;
  falls.pct_start = 0;
  return {
      {"step", {.kind = Kind::step, .step_size = 5, .gamma = 0.3}},
      {"multi_step", {.kind = Kind::multi_step, .gamma = 0.5, .milestones = {3, 4, 9}}},
      {"multi_step_twice",
       {.kind = Kind::multi_step, .gamma = 0.5, .milestones = {2, 2}}},
      {"multi_step_warm",
       {.kind = Kind::multi_step,
        .gamma = 0.5,
        .milestones = {3, 4, 9},
        .warmup_epochs = 2}},
      {"cosine_warm", {.kind = Kind::cosine, .epochs = 12, .warmup_epochs = 3}},
      {"one_cycle", one_cycle},
      {"one_cycle_adam", one_cycle},
      {"one_cycle_options", options},
      {"one_cycle_falls", falls},
      {"one_cycle_short", one_cycle}};
}

TEST(Schedule, ValuesArePyTorchs) {
  const Json golden = test::read_golden("schedules.json");
  const double lr = golden["lr"];
  const auto mine = schedules();
  EXPECT_EQ(golden["cases"].size(), mine.size());
  for (const auto& [name, expected] : golden["cases"].items()) {
    SCOPED_TRACE(name);
    const Schedule& schedule = mine.at(name);
    const auto& rates = expected["lr"];
    for (size_t i = 0; i < rates.size(); ++i) {
      SCOPED_TRACE(i);
      if (schedule.kind != Schedule::Kind::one_cycle) {
        EXPECT_NEAR(lr_of_epoch(schedule, lr, int(i)), rates[i], 1e-12);
        continue;
      }
      const auto at = one_cycle_at(schedule, lr, int64_t(i), int64_t(rates.size()));
      EXPECT_NEAR(at.lr, rates[i], 1e-12);
      EXPECT_NEAR(at.momentum, expected["momentum"][i], 1e-12);
    }
  }
}

// A run may make more steps than were planned, since it may be resumed with others.
TEST(Schedule, OneCycleStaysAtItsEnd) {
  const Schedule schedule{.kind = Schedule::Kind::one_cycle};
  const auto last = one_cycle_at(schedule, 0.1, 9, 10);
  EXPECT_DOUBLE_EQ(last.lr, 0.1 / 25 / 1e4);
  EXPECT_EQ(one_cycle_at(schedule, 0.1, 12, 10).lr, last.lr);
  EXPECT_TRUE(std::isfinite(one_cycle_at(schedule, 0.1, 0, 1).lr));
}

}  // namespace
}  // namespace lockstep
