// The sliders in the viewer: questions, answers, the recorded step and its ghost.
#include "gui/app/what_if.h"

#include <gtest/gtest.h>

#include "gui/model/servers.h"
#include "gui/panels/panels.h"
#include "tests/gui/app/driver.h"
#include "tracer/analysis/steps.h"

namespace lockstep::gui {
namespace {

/// Answers everything that the viewer asks, as the window's threads would.
void answer_all(App& app) {
  while (awaits_what_if(app, true) != nullptr) {
    WhatIfLab lab(what_if_source(app));
    const WhatIfPanel* panel = awaits_what_if(app, false);
    if (panel != nullptr) take_what_if(app, lab.step(panel->question));
    take_what_if(app, lab.answer(app.what_if->question));
  }
}

/// The length that `emulate` gives to what the sliders ask.
int64_t emulated_length(const WhatIfPanel& panel) {
  const tracer::WhatIf& w = *panel.question;
  const tracer::Trace recorded = tracer::read_trace(golden("single.json.gz"));
  tracer::ConstructedProgram program;
  program.mode = w.mode;
  program.devices = w.devices;
  program.bucket_cap = int64_t{w.bucket_cap_mb} << 20;
  tracer::EmulateOptions options;
  options.link = w.link;
  options.compute_scale = w.compute_scale;
  options.interference = w.interference.value_or(1);
  const tracer::Trace emulated =
      tracer::emulate(tracer::construct(recorded, program), options);
  return join_ranks(tracer::find_steps(emulated)).at(0).length();
}

TEST(WhatIf, ShowsTheAnswerAndTheRecordedStepAgain) {
  Driver viewer("single.json.gz");
  viewer.press('j');
  EXPECT_EQ(viewer.app.settings.drawer, Drawer::sliders);
  ASSERT_NE(viewer.app.what_if, nullptr);
  EXPECT_FALSE(shows_emulated(viewer.app));
  answer_all(viewer.app);
  viewer.frame();
  ASSERT_TRUE(shows_emulated(viewer.app));
  EXPECT_EQ(viewer.model().devices.size(), 4u);
  EXPECT_FALSE(viewer.model().is_measured());
  EXPECT_EQ(viewer.app.trace().verdict.state, Verdict::State::holds);
  const WhatIfPanel& panel = *viewer.app.what_if;
  EXPECT_EQ(panel.step, emulated_length(panel));
  EXPECT_EQ(panel.step, viewer.model().steps[0].length);
  viewer.press('j', kShift);
  EXPECT_FALSE(shows_emulated(viewer.app));
  EXPECT_EQ(viewer.model().devices.size(), 1u);
  EXPECT_TRUE(viewer.model().is_measured());
  viewer.press('j', kShift);
  EXPECT_TRUE(shows_emulated(viewer.app));
}

TEST(WhatIf, AMovedSliderIsAnswered) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app, tracer::parse_what_if("--mode ddp --devices 2"));
  answer_all(viewer.app);
  const int64_t before = *viewer.app.what_if->step;
  ask(viewer.app, tracer::parse_what_if("--mode ddp --devices 2 --link-gb-per-s 0.5"));
  answer_all(viewer.app);
  EXPECT_GT(viewer.app.what_if->step, before);
  EXPECT_EQ(*viewer.app.what_if->step, emulated_length(*viewer.app.what_if));
  EXPECT_EQ(viewer.model().steps[0].length, viewer.app.what_if->step);
  EXPECT_EQ(what_if_command(viewer.app),
            "./lockstep emulate single.json.gz --mode ddp --devices 2 --link-gb-per-s "
            "0.5");
}

// The recording is of a CPU: of its kernels, faster links shorten little.
TEST(WhatIf, LinksThatChangeLittleAreComparedOnFasterDevices) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app, tracer::parse_what_if("--mode dp --devices 4"));
  answer_all(viewer.app);
  EXPECT_EQ(viewer.app.what_if->links.before, 0) << "the default links";
  ask(viewer.app, tracer::parse_what_if("--mode dp --devices 4 --link-gb-per-s 300"));
  answer_all(viewer.app);
  const LinkEffect links = viewer.app.what_if->links;
  EXPECT_TRUE(links.is_little()) << links.before << " " << links.after;
  EXPECT_EQ(links.after, *viewer.app.what_if->step);
  const auto asked = [&](const char* question) {
    ask(viewer.app, tracer::parse_what_if(question));
    answer_all(viewer.app);
    return *viewer.app.what_if->step;
  };
  EXPECT_EQ(links.before, asked("--mode dp --devices 4"));
  EXPECT_EQ(links.fast_before, asked("--mode dp --devices 4 --compute-scale 50"));
  EXPECT_EQ(links.fast_after, asked("--mode dp --devices 4 --link-gb-per-s 300 "
                                    "--compute-scale 50"));
  EXPECT_LT(links.fast_after, links.fast_before);
  asked("--mode dp --devices 4 --link-gb-per-s 0.1");
  EXPECT_FALSE(viewer.app.what_if->links.is_little());
}

TEST(WhatIf, InterferenceMakesAStepLonger) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app, tracer::parse_what_if("--mode ddp --devices 2"));
  answer_all(viewer.app);
  const int64_t before = *viewer.app.what_if->step;
  ask(viewer.app, tracer::parse_what_if("--mode ddp --devices 2 --interference 2"));
  answer_all(viewer.app);
  EXPECT_GT(viewer.app.what_if->step, before);
  EXPECT_EQ(*viewer.app.what_if->step, emulated_length(*viewer.app.what_if));
}

// The recorded step of one device, which has neither buckets nor collectives.
TEST(WhatIf, OneSuchDeviceIsThatOfASweep) {
  const tracer::Trace recorded = tracer::read_trace(golden("single.json.gz"));
  const tracer::Trace single = tracer::emulate(tracer::construct_single(recorded));
  const int64_t alone = join_ranks(tracer::find_steps(single)).at(0).length();
  Driver viewer("single.json.gz");
  open_what_if(viewer.app);
  for (const char* question :
       {"--mode ddp --devices 2", "--mode ddp --devices 2 --interference 2",
        "--mode dp --devices 4", "--mode dp --devices 4 --interference 2"}) {
    ask(viewer.app, tracer::parse_what_if(question));
    answer_all(viewer.app);
    ASSERT_TRUE(viewer.app.what_if->alone) << question;
    EXPECT_NEAR(static_cast<double>(*viewer.app.what_if->alone),
                static_cast<double>(alone), 0.01 * static_cast<double>(alone))
        << question;
  }
}

TEST(WhatIf, ARecordedProgramKeepsItsDevices) {
  Driver viewer("dp.json.gz");
  open_what_if(viewer.app);
  answer_all(viewer.app);
  ASSERT_TRUE(shows_emulated(viewer.app));
  EXPECT_EQ(viewer.model().devices.size(), 4u);
  EXPECT_EQ(viewer.app.what_if->room.devices, 4);
  EXPECT_NE(viewer.app.what_if->room.why_not, "");
  EXPECT_EQ(what_if_command(viewer.app), "./lockstep emulate dp.json.gz");
}

// Each step of a re-timed program is compared with the same step of the recording.
TEST(WhatIf, TheGhostFollowsTheStep) {
  Driver viewer("memory_dp.json.gz");
  open_what_if(viewer.app, tracer::parse_what_if("--host-scale 0.1"));
  answer_all(viewer.app);
  ASSERT_TRUE(shows_emulated(viewer.app));
  const Model& recorded = *recorded_of(viewer.app).model;
  ASSERT_GT(recorded.steps.size(), 1u);
  for (size_t step = 0; step < recorded.steps.size(); ++step) {
    viewer.app.go(at_event(viewer.model(), viewer.model().steps[step].event));
    viewer.frame();
    ASSERT_EQ(viewer.app.trace().state.step, step);
    const WhatIfTimes times = step_times(viewer.app);
    EXPECT_EQ(times.step, viewer.model().steps[step].length);
    EXPECT_EQ(times.recorded, recorded.steps[step].length);
    EXPECT_GT(times.step, times.defaults);  // a slower host
    EXPECT_EQ(viewer.app.what_if->ghost.length,
              recorded.steps[step].end - recorded.steps[step].begin);
    const TimelineView& view = viewer.app.trace().timeline;
    EXPECT_LE(view.from, static_cast<double>(viewer.model().steps[step].begin));
    EXPECT_GE(view.to, static_cast<double>(viewer.model().steps[step].end));
  }
}

// A re-timed program has no time before its trace: that of another question is not
// shown.
TEST(WhatIf, ANewQuestionHasNoTimesUntilItIsAnswered) {
  Driver viewer("dp.json.gz");
  open_what_if(viewer.app);
  answer_all(viewer.app);
  WhatIfPanel& panel = *viewer.app.what_if;
  EXPECT_EQ(panel.step_for, panel.question);
  tracer::WhatIf question = *panel.question;
  question.compute_scale = 0.5;
  ask(viewer.app, question);
  take_what_if(viewer.app, WhatIfLab(what_if_source(viewer.app)).step(question));
  EXPECT_EQ(panel.step_of, panel.question);
  EXPECT_NE(panel.step_for, panel.question);
  viewer.frame();
  answer_all(viewer.app);
  EXPECT_EQ(panel.step_for, panel.question);
}

TEST(WhatIf, ManyRanksAreRepresented) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app, tracer::parse_what_if("--mode ddp --devices 1024"));
  answer_all(viewer.app);
  ASSERT_TRUE(shows_emulated(viewer.app)) << viewer.app.what_if->problem;
  EXPECT_EQ(viewer.model().devices.size(), 4u);
  EXPECT_EQ(viewer.app.what_if->question->devices, 1024);
  EXPECT_EQ(viewer.app.trace().verdict.state, Verdict::State::not_checked);
  EXPECT_TRUE(viewer.model().problems.empty());
  EXPECT_NE(trace_title(viewer.model()).find("4 of 1024 ranks"), std::string::npos);
  EXPECT_EQ(rank_title(viewer.model(), 1), "rank 1");
  EXPECT_EQ(rank_title(viewer.model(), 3), "rank 1023");
  EXPECT_EQ(viewer.model().devices[2].id, 512);
  EXPECT_EQ(viewer.model().ranks_told(), 1024);
}

// What depends on single messages is not guessed for more ranks than have them.
TEST(WhatIf, ManyRanksHaveNoMessages) {
  Driver viewer("single.json.gz");
  for (const char* option : {"--interference 1.5", "--all-reduce tree"}) {
    open_what_if(viewer.app, tracer::parse_what_if(
                                 fmt::format("--mode ddp --devices 128 {}", option)));
    answer_all(viewer.app);
    EXPECT_NE(viewer.app.what_if->problem.find("needs an event for each message"),
              std::string::npos)
        << option << ": " << viewer.app.what_if->problem;
    EXPECT_FALSE(viewer.app.what_if->step) << option;
  }
}

TEST(WhatIf, SaysWhatCannotBeAnswered) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app, tracer::parse_what_if("--mode ddp --devices 4 -b 30"));
  answer_all(viewer.app);
  EXPECT_NE(viewer.app.what_if->problem.find("cannot be shared equally"),
            std::string::npos);
  EXPECT_FALSE(shows_emulated(viewer.app));
  viewer.frame();
}

TEST(WhatIf, AnotherTraceBeginsAnew) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app);
  answer_all(viewer.app);
  viewer.open("dp.json.gz");  // the recorded trace is shown again
  EXPECT_FALSE(shows_emulated(viewer.app));
  EXPECT_EQ(viewer.app.traces()[0].model->devices.size(), 1u);
  viewer.frame();  // the drawer is open: it belongs to the new trace
  answer_all(viewer.app);
  EXPECT_EQ(viewer.app.what_if->room.devices, 4);
  viewer.app.close_trace(1);
  viewer.frame();
  EXPECT_EQ(viewer.app.traces().size(), 1u);
}

// `emulate` refuses recordings of other programs.
TEST(WhatIf, TheCommandNamesOnlyRecordingsOfOtherBatches) {
  Driver viewer("dp.json.gz");
  viewer.open("single.json.gz");
  open_what_if(viewer.app);
  answer_all(viewer.app);
  const int64_t batch = viewer.app.what_if->room.batch;
  EXPECT_GT(batch, 0);
  tracer::WhatIf question = *viewer.app.what_if->question;
  question.batch = batch * question.devices;
  ask(viewer.app, question);
  const std::string command = what_if_command(viewer.app);
  EXPECT_EQ(command.find("dp.json.gz"), std::string::npos) << command;
}

// The ghost is where the recorded device was busy, on every rank that repeats it.
TEST(WhatIf, EachRankHasTheGhostOfTheRecordedDevice) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app);
  answer_all(viewer.app);
  const Ghost& ghost = viewer.app.what_if->ghost;
  EXPECT_EQ(ghost.length, viewer.app.what_if->recorded_step);
  size_t compute = 0;
  for (size_t i = 0; i < ghost.lanes.size(); ++i) {
    const Lane& lane = viewer.model().lanes[i];
    if (lane.is_host() || lane.stream != 0) continue;
    ++compute;
    ASSERT_FALSE(ghost.lanes[i].empty());
    EXPECT_LE(ghost.lanes[i].back().second, ghost.length);
    for (size_t j = 1; j < ghost.lanes[i].size(); ++j) {
      EXPECT_GT(ghost.lanes[i][j].first, ghost.lanes[i][j - 1].second);
    }
  }
  EXPECT_EQ(compute, 4u);
}

TEST(WhatIf, NotesBelongToTheRecordedTrace) {
  Driver viewer("single.json.gz");
  open_what_if(viewer.app);
  answer_all(viewer.app);
  viewer.press('b');
  EXPECT_TRUE(viewer.app.trace().notes.placed.empty());
  viewer.press('j', kShift);
  viewer.press('b');
  EXPECT_EQ(viewer.app.trace().notes.placed.size(), 1u);
}

// The mouse moves a slider, and the question follows.
TEST(WhatIf, ASliderIsDragged) {
  Driver viewer("single.json.gz", 1440, 900);
  open_what_if(viewer.app);
  answer_all(viewer.app);
  viewer.app.settings.enlarged = Pane::drawer;
  viewer.frame();
  viewer.frame();
  const auto before = *viewer.app.what_if->question;
  bool moved = false;
  for (float y = 100; y < 800 && !moved; y += 11) {
    viewer.click(500, y);
    moved = *viewer.app.what_if->question != before;
  }
  EXPECT_TRUE(moved);
}

}  // namespace
}  // namespace lockstep::gui
