// The director's script, of recorded traces.
#include "gui/model/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/transfers.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

Model of_lesson(const std::string& name) {
  return load_file(golden().parent_path().parent_path() / "lessons" / name /
                   "trace.json.gz");
}

struct Recorded {
  const char* name;
  Model model;
};

/// Traces of every mode: DataParallel, also of features, DDP, one device, toys.
std::vector<Recorded> recorded() {
  std::vector<Recorded> all;
  for (const char* name : {"dp", "ddp", "dp_features", "single"}) {
    all.push_back(
        {name, load_file(golden() / "viewer" / (std::string(name) + ".json.gz"))});
  }
  for (const char* name : {"00-first-trace", "05-scatter", "06-reduce", "07-dp-cost",
                           "09-ring", "11-ddp-naive", "12-ddp-buckets"}) {
    all.push_back({name, of_lesson(name)});
  }
  if (const char* file = std::getenv("LOCKSTEP_TRACE")) {  // to try any other
    all.push_back({file, load_file(file)});
  }
  return all;
}

/// Calls `body` with the script of each rank of each step of each trace.
void for_each_script(
    const std::function<void(const Model&, const Script&, const Step&)>& body) {
  for (const Recorded& trace : recorded()) {
    for (size_t step = 0; step < trace.model.steps.size(); ++step) {
      for (int rank = 0; rank < trace.model.ranks(); ++rank) {
        SCOPED_TRACE(testing::Message()
                     << trace.name << ", step " << step << ", rank " << rank);
        body(trace.model, script_of(trace.model, step, rank), trace.model.steps[step]);
      }
    }
  }
}

const Event& event_of(const Model& model, uint32_t place) {
  return model.events[model.program[place]];
}

TEST(Script, TakesAbout45Seconds) {
  for_each_script([](const Model&, const Script& script, const Step&) {
    EXPECT_GE(script.seconds(), 40);
    EXPECT_LE(script.seconds(), 50);
  });
}

/// Toys have few events, yet nothing stands still for long.
TEST(Script, HasNoLongShot) {
  for_each_script([](const Model& model, const Script& script, const Step&) {
    for (const Shot& shot : script.shots) {
      EXPECT_LE(shot.seconds, 8)
          << (shot.says == kNoEvent ? shot.caption
                                    : model.name_of(model.events[shot.says]));
    }
  });
}

TEST(Script, ShowsEachPhaseForAWhile) {
  for_each_script([](const Model& model, const Script& script, const Step& step) {
    const uint32_t own = step.event_of(script.rank);
    if (own == kNoEvent) return;
    std::map<uint32_t, double> seconds;
    for (const Shot& shot : script.shots) seconds[shot.phase] += shot.seconds;
    const Event& whole = model.events[own];
    for (uint32_t place = whole.order; place < whole.last; ++place) {
      if (event_of(model, place).what() != Kind::phase) continue;
      EXPECT_GT(seconds[model.program[place]], 0.1)
          << model.name_of(event_of(model, place));
    }
  });
}

/// Every place of the program is shown once, in order, up to the end of the step.
TEST(Script, ProceedsThroughTheProgramToTheEndOfTheStep) {
  for_each_script([](const Model& model, const Script& script, const Step& step) {
    const uint32_t own = step.event_of(script.rank);
    if (own == kNoEvent) return;
    uint32_t next = model.events[own].order;
    int64_t time = INT64_MIN;
    for (const Shot& shot : script.shots) {
      if (shot.kind == Shot::Kind::time) {
        EXPECT_LT(shot.begin, shot.end);
        EXPECT_GE(shot.begin, time);
        time = shot.end;
        continue;
      }
      EXPECT_EQ(shot.first, next);
      EXPECT_LT(shot.first, shot.last);
      next = shot.last;
    }
    EXPECT_EQ(next, model.events[own].last);
  });
}

TEST(Script, CollapsedRepeatsHideNeitherAPhaseNorACopy) {
  size_t collapsed = 0;
  for_each_script([&](const Model& model, const Script& script, const Step&) {
    std::set<uint32_t> shown;  // copies
    for (const Shot& shot : script.shots) {
      if (shot.kind == Shot::Kind::hold && !shot.still) {
        for (const Transfer& transfer :
             transfers_of(model, event_of(model, shot.first))) {
          shown.insert(transfer.copies.begin(), transfer.copies.end());
        }
      }
      if (!shot.repeats) continue;
      ++collapsed;
      EXPECT_FALSE(shot.caption.empty());
      for (uint32_t place = shot.first; place < shot.last; ++place) {
        const Event& event = event_of(model, place);
        EXPECT_NE(event.what(), Kind::phase);
        if (event.what() != Kind::copy) continue;
        const Copy* copy = model.copy_of(model.program[place]);
        EXPECT_TRUE(shown.contains(static_cast<uint32_t>(copy - model.copies.data())));
      }
    }
  });
  EXPECT_GT(collapsed, 20u);
}

/// Counts what the caption says of the run, from the events alone.
TEST(Script, CountsTheRepeats) {
  const Model model = load_file(golden() / "viewer/single.json.gz");
  const Script script = script_of(model, 0, 0);
  size_t runs = 0;
  for (const Shot& shot : script.shots) {
    if (!shot.repeats) continue;
    size_t convolutions = 0;
    for (uint32_t place = shot.first; place < shot.last; ++place) {
      convolutions += model.name_of(event_of(model, place)) == "aten::conv2d";
    }
    if (convolutions == 0) continue;
    ++runs;
    EXPECT_NE(shot.caption.find(fmt::format("**conv2d ×{}**", convolutions)),
              std::string::npos)
        << shot.caption;
  }
  EXPECT_GT(runs, 0u);
}

/// Phases nested deeper than a stack is for functions that call themselves.
TEST(Script, OfAHundredThousandNestedPhasesEnds) {
  constexpr int kLevels = 100'000;
  std::string events =
      R"({"ph":"X","cat":"phase","name":"step","pid":0,"tid":0,"ts":0,"dur":900000,)"
      R"("args":{"id":1,"step":0}})";
  for (int i = 0; i < kLevels; ++i) {
    events += fmt::format(
        R"(,{{"ph":"X","cat":"phase","name":"p","pid":0,"tid":0,"ts":{},"dur":{},)"
        R"("args":{{"id":{},"step":0}}}})",
        i + 1, 900'000 - 2 * i - 2, i + 2);
  }
  const Model model = load_model(
      "deep", R"({"lockstep":{"format":1,"devices":[{"id":0}]},"traceEvents":[)" +
                  events + "]}");
  const Script script = script_of(model, 0, 0);
  ASSERT_FALSE(script.shots.empty());
  EXPECT_EQ(script.shots.back().last, model.program.size());
}

TEST(Script, IsTheSameEachTime) {
  for_each_script([](const Model& model, const Script& script, const Step&) {
    const Script again = script_of(model, script.step, script.rank);
    ASSERT_EQ(again.shots.size(), script.shots.size());
    for (size_t i = 0; i < again.shots.size(); ++i) {
      EXPECT_EQ(again.shots[i].seconds, script.shots[i].seconds);
      EXPECT_EQ(again.shots[i].caption, script.shots[i].caption);
    }
    for (double at = 0; at < script.seconds(); at += 0.37) {
      EXPECT_EQ(position_at(model, again, at), position_at(model, script, at));
    }
  });
}

TEST(Script, IsJoinedWhereItShowsThePosition) {
  for_each_script([](const Model& model, const Script& script, const Step&) {
    for (double at = 0.1; at < script.seconds(); at += 1.7) {
      const Position shown = position_at(model, script, at);
      const double joined = seconds_at(model, script, shown);
      EXPECT_LE(joined, at + 1e-3) << "it never skips anything";
      const Shot* shot = shot_at(script, joined + 1e-6).first;
      EXPECT_EQ(shot, shot_at(script, at).first) << at;
    }
  });
}

TEST(Script, GoesOverToTimeOrderWhereDevicesWorkAtOnce) {
  const Model model = load_file(golden() / "viewer/ddp.json.gz");
  const Script script = script_of(model, 0, 0);
  size_t slowed = 0;
  for (const Shot& shot : script.shots) {
    if (shot.kind != Shot::Kind::time) {
      EXPECT_EQ(shot.rate(), 0);
      continue;
    }
    ++slowed;
    EXPECT_NEAR(shot.rate() * shot.seconds, static_cast<double>(shot.end - shot.begin),
                1);
    EXPECT_FALSE(shot.caption.empty());
  }
  EXPECT_GT(slowed, 0u);
}

/// Returns the share of a shot in which at least `least` devices run kernels of a phase
/// of the step, as captions say it: from the events, one interval after another.
std::string computing_share(const Model& model, const Step& step, const Shot& shot,
                            std::string_view phase, size_t least) {
  std::vector<const Event*> kernels;
  std::set<int64_t> times{shot.begin, shot.end};
  for (const Event& event : model.events) {
    if (event.what() != Kind::kernel || event.step != step.number) continue;
    if (model.strings[model.phases[event.phase]] != phase) continue;
    if (model.lanes[event.lane].is_host()) continue;
    if (int64_t{event.ts} >= shot.end || event.end() <= shot.begin) continue;
    kernels.push_back(&event);
    times.insert(std::max<int64_t>(event.ts, shot.begin));
    times.insert(std::min<int64_t>(event.end(), shot.end));
  }
  int64_t sum = 0;
  for (auto at = times.begin(); std::next(at) != times.end(); ++at) {
    std::set<int> devices;
    for (const Event* kernel : kernels) {
      const bool runs = int64_t{kernel->ts} <= *at && kernel->end() > *at;
      if (runs) devices.insert(model.lanes[kernel->lane].device);
    }
    if (devices.size() >= least) sum += *std::next(at) - *at;
  }
  const double share =
      static_cast<double>(sum) / static_cast<double>(shot.end - shot.begin);
  return sum > 0 && share < 0.01 ? "less than 1 %" : percent(share);
}

/// What a caption says holds for all of its shot: how much of it is computed at once,
/// and beside how much of a reduction.
TEST(Script, CaptionsOfTimesAreTrueForAllOfTheirTime) {
  size_t computing = 0, reducing = 0;
  for_each_script([&](const Model& model, const Script& script, const Step& step) {
    if (!is_ours(model)) return;
    for (const Shot& shot : script.shots) {
      if (shot.kind != Shot::Kind::time) continue;
      const std::string& said = shot.caption;
      const auto says = [&](const std::string& share) {
        return said.find("in **" + share + "** of this time") != std::string::npos;
      };
      if (said.find("two or more compute at once") != std::string::npos) {
        const size_t from = said.find("**") + 2;
        const std::string phase = said.substr(from, said.find(' ', from) - from);
        const std::string share = computing_share(model, step, shot, phase, 2);
        EXPECT_TRUE(says(share)) << said << " " << share;
        ++computing;
      } else if (said.find("and backward**") != std::string::npos) {
        const std::string share =
            computing_share(model, step, shot, phases::backward, 1);
        EXPECT_TRUE(says(share)) << said << " " << share;
        EXPECT_FALSE(says("0 %")) << said;
        ++reducing;
      } else if (said.starts_with("**Exposed**")) {
        EXPECT_EQ(computing_share(model, step, shot, phases::backward, 1), "0 %");
      }
    }
  });
  EXPECT_GT(computing, 5u);
  EXPECT_GT(reducing, 0u);
}

/// A wait's length is not said beside the next wait.
TEST(Script, AWaitIsToldWhileItIsShown) {
  size_t waits = 0;
  for_each_script([&](const Model& model, const Script& script, const Step&) {
    for (const Shot& shot : script.shots) {
      if (shot.kind == Shot::Kind::time || shot.says == kNoEvent) continue;
      if (shot.caption.find("in all") != std::string::npos) {
        int64_t waited = 0;
        for (uint32_t place = shot.first; place < shot.last; ++place) {
          const Event& event = event_of(model, place);
          if (event.what() == Kind::sync) waited += event.dur;
        }
        ++waits;
        EXPECT_NE(shot.caption.find("**" + human_time(waited) + "** in all"),
                  std::string::npos)
            << shot.caption << " " << waited;
      }
      if (!shot.caption.empty()) continue;
      const Event& said = model.events[shot.says];
      if (said.what() != Kind::sync) continue;
      ++waits;
      EXPECT_GE(shot.first, said.order) << model.name_of(said);
      EXPECT_LE(shot.last, said.last) << model.name_of(said);
    }
  });
  EXPECT_GT(waits, 10u);
}

/// The trace with its devices called `null:…`, as `--device-type null` names them.
Model without_times(const std::string& file) {
  std::string text = tracer::read_whole_file(golden() / "viewer" / file);
  for (size_t at = 0; (at = text.find("\"cpu:", at)) != text.npos;) {
    text.replace(at, 5, "\"null:");
  }
  return load_model(file, text);
}

TEST(Script, OfNullDevicesClaimsNoTimes) {
  for (const char* file : {"dp.json.gz", "ddp.json.gz"}) {
    const Model model = without_times(file);
    ASSERT_FALSE(model.has_device_times());
    const Script script = script_of(model, 0, 0);
    EXPECT_NEAR(script.seconds(), kStepSeconds, 5);
    for (const Shot& shot : script.shots) {
      EXPECT_NE(shot.kind, Shot::Kind::time);
      EXPECT_EQ(shot.rate(), 0);
    }
  }
}

/// Another program's trace: two kernels of 100 us, 10 ms apart, and nothing else.
TEST(Script, OfAnotherProgramShortensIdleTime) {
  const auto kernel = [](const char* ts) {
    return std::string(R"({"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":)") +
           ts + R"(,"dur":100,"args":{"device":0,"stream":7}})";
  };
  const Model model = load_events(kernel("0") + "," + kernel("10000"));
  const Script script = script_of(model, 0, 0);
  ASSERT_EQ(script.shots.size(), 3u);
  EXPECT_NEAR(script.seconds(), kStepSeconds, 5);
  EXPECT_EQ(script.shots[1].caption,
            "No device works for **9.90 ms**: this gap is shortened.");
  EXPECT_GT(script.shots[1].rate(), 50 * script.shots[0].rate());
  EXPECT_EQ(script.shots[2].end, 10'100'000);
  EXPECT_EQ(script.shots[2].caption,
            "**In time order**: 100 µs of what the devices do.");
}

TEST(Script, SaysRates) {
  const Model model = load_file(golden() / "viewer/dp.json.gz");
  EXPECT_EQ(rate_in_words(model, 25e6), "1/40 of real time");
  EXPECT_EQ(rate_in_words(model, 1e9), "real time");
  EXPECT_EQ(rate_in_words(model, 4e9), "4x real time");
  EXPECT_EQ(rate_in_words(model, 1e9 / 283), "1/280 of real time");
  EXPECT_EQ(rate_in_words(model, 1e9 / 3.5), "1/3.5 of real time");
  std::string text = tracer::read_whole_file(golden() / "viewer/dp.json.gz");
  text.replace(text.find("\"measured\""), 10, "\"emulated\"");
  EXPECT_EQ(rate_in_words(load_model("dp", text), 25e6), "1/40 of emulated time");
}

}  // namespace
}  // namespace lockstep::gui
