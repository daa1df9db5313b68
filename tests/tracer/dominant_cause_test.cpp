// Programs with one dominant cause: the advice names it, and the emulator confirms that
// without it the step is shorter than without any other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tracer/golden.h"
#include "tracer/analysis/advice.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer::dominant {
namespace {

enum class Dominant { kernels, links, host, loader, one_device };

struct Way {
  const char* mode;
  int devices;
};

/// A program, and the hardware that runs it.
struct Setting {
  EmulateOptions options{.link = {1'000, 0.1}, .compute_scale = 1, .host_scale = 20};
  int64_t computing = 1;  ///< how many times as long kernels with FLOPs take
  int64_t loader = 0;     ///< ns for which the host waits for the batch
  int64_t slower = 1;     ///< how many times as long device 1 takes for its kernels
};

const Trace& one_device() {
  static const Trace trace =
      read_trace(std::string(LOCKSTEP_SOURCE_DIR) + "/lessons/01-tape/trace.json.gz");
  return trace;
}

/// Makes the phase `data` of each step so much longer.
void wait_for_batches(Trace& trace, int64_t longer) {
  std::vector<int64_t> ends;
  for (const Event& event : trace.events) {
    if (event.ph == 'X' && event.name == phases::data) ends.push_back(event.end());
  }
  for (Event& event : trace.events) {
    int64_t before = 0, within = 0;  // waits that end before it begins, or in it
    for (const int64_t end : ends) {
      if (event.ph == 'M') continue;
      if (end <= event.ts) {
        before += longer;
      } else if (end <= event.end()) {
        within += longer;
      }
    }
    event.ts += before;
    if (event.ph == 'X') event.dur += within;
  }
}

Trace run(const Way& way, const Setting& setting) {
  Trace recorded = one_device();
  wait_for_batches(recorded, setting.loader);
  ConstructedProgram program;
  program.mode = way.mode;
  program.devices = way.devices;
  Trace trace = construct(recorded, program);
  for (Event& event : trace.events) {
    if (!event.is(categories::kernel)) continue;
    int64_t time = kernel_facts(event).cpu;
    if (event.args.contains(keys::flops)) time *= setting.computing;
    if (int_arg(event.args, keys::device) == 1) time *= setting.slower;
    event.args[keys::cpu_us] = 1e-3 * static_cast<double>(time);
  }
  return emulate(std::move(trace), setting.options);
}

Setting setting_with(Dominant cause) {
  Setting setting;
  switch (cause) {
    case Dominant::kernels:
      setting.computing = 100;
      break;
    case Dominant::links:
      setting.options.link.gb_per_s = 0.02;
      break;
    case Dominant::host:
      setting.options.host_scale = 0.02;
      break;
    case Dominant::loader:
      setting.options.host_scale = 1;
      setting.loader = 2'000'000'000;
      break;
    case Dominant::one_device:
      setting.slower = 10;
      break;
  }
  return setting;
}

/// Returns the setting without one of its causes.
Setting without(Setting setting, Dominant cause) {
  switch (cause) {
    case Dominant::kernels:
      setting.computing = 1;
      break;
    case Dominant::links:
      setting.options.link.gb_per_s *= 100;
      break;
    case Dominant::host:
      setting.options.host_scale *= 100;
      break;
    case Dominant::loader:
      setting.loader = 0;
      break;
    case Dominant::one_device:
      setting.slower = 1;
      break;
  }
  return setting;
}

int64_t step_of(const Trace& trace) {
  return join_ranks(find_steps(trace)).at(0).length();
}

std::string words_for(Dominant cause, const std::string& mode) {
  switch (cause) {
    case Dominant::kernels:
      return "What would help: faster devices.";
    case Dominant::links:
      return mode.starts_with("dp") ? "DistributedDataParallel sends no weights"
                                    : "Faster links shorten it";
    case Dominant::host:
      return "With larger batches";
    case Dominant::loader:
      return "More workers (`-j`)";
    case Dominant::one_device:
      return "The devices that come last decide";
  }
  return "";
}

std::string name_of(const std::tuple<Way, Dominant>& program) {
  const auto& [way, cause] = program;
  static constexpr const char* names[] = {"kernels", "links", "host", "loader",
                                          "one_device"};
  std::string name =
      fmt::format("{}_{}_{}", way.mode, way.devices, names[static_cast<size_t>(cause)]);
  std::ranges::replace(name, '-', '_');
  return name;
}

constexpr Dominant kCauses[] = {Dominant::kernels, Dominant::links, Dominant::host,
                                Dominant::loader, Dominant::one_device};
constexpr Way kWays[] = {{"dp", 2},  {"dp", 4},           {"ddp", 2},
                         {"ddp", 4}, {"dp-criterion", 2}, {"ps", 2}};

class DominantCause : public ::testing::TestWithParam<std::tuple<Way, Dominant>> {};

TEST_P(DominantCause, IsNamedAndItsRemovalHelpsMost) {
  const auto& [way, cause] = GetParam();
  const Setting setting = setting_with(cause);
  const Trace trace = run(way, setting);
  const Summary summary = summarize(trace);
  ASSERT_EQ(summary.train.steps.size(), 1u);
  const std::string said = help_sentence(summary.train.steps[0], summary);
  EXPECT_NE(said.find(words_for(cause, way.mode)), said.npos) << said;
  if (cause != Dominant::kernels) {
    const std::string limit = limiting_sentence(summary);
    EXPECT_NE(limit.find(words_for(cause, way.mode)), limit.npos) << limit;
  }

  const int64_t best = step_of(run(way, without(setting, cause)));
  EXPECT_LT(best, step_of(trace) / 2);
  for (const Dominant other : kCauses) {
    // A faster host loads faster, too.
    if (other == cause || (cause == Dominant::loader && other == Dominant::host)) {
      continue;
    }
    EXPECT_LE(best, step_of(run(way, without(setting, other))))
        << "without " << static_cast<int>(other);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, DominantCause,
                         ::testing::Combine(::testing::ValuesIn(kWays),
                                            ::testing::ValuesIn(kCauses)),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace lockstep::tracer::dominant
