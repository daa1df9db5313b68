// Films: the stage alone with its caption, a pipeline's grid, and the closing numbers.
#include <memory>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "tests/gui/app/driver.h"
#include "tests/gui/model/made_trace.h"
#include "tests/tracer/made_pipeline.h"

namespace lockstep::gui {
namespace {

/// A pipeline of four stages and eight micro-batches, whose film is its grid.
void open_pipeline(Driver& viewer) {
  tracer::testing::MadePipeline options;
  options.unit = 1'000'000;
  options.launch = 1000;
  const auto text = std::make_shared<const std::string>(
      tracer::trace_text(tracer::testing::made_pipeline(
          plan::pipeline_schedule(plan::PipelineOrder::one_f_one_b, 4, 8),
          tracer::testing::one_and_two(4, 0.25), options)));
  viewer.app.begin_loading("pipeline", *text, text);
  viewer.app.finish_loading();
  viewer.app.settings.pipeline = true;
  viewer.app.settings.cut = Cut::stage;
  viewer.frame();
}

const tracer::Pipeline& grid_of(Driver& viewer) {
  return *pipeline_here(viewer.app.trace());
}

/// Returns the share of the devices' time in which passes run, from their kernels'
/// pieces between two times of the grid.
double passes_run(const tracer::Pipeline& grid, int64_t begin, int64_t end) {
  int64_t running = 0;
  for (int64_t ts = begin; ts < end; ts += 1000) {  // one sample per µs
    for (const tracer::PipelineDevice& device : grid.devices) {
      for (const tracer::PipelinePiece& piece : device.pieces) {
        const bool here = piece.begin <= ts && ts < piece.end;
        running += here && piece.slot == tracer::Slot::pass;
      }
    }
  }
  return static_cast<double>(running * 1000) /
         static_cast<double>((end - begin) * static_cast<int64_t>(grid.devices.size()));
}

TEST(FilmCut, IsTheMiddlePanelAlone) {
  for (const auto& [width, height] : {std::pair(1280, 720), {1080, 1080}}) {
    Driver viewer("dp.json.gz", width, height);
    viewer.go("2:replicate");
    viewer.app.tour_places = {};
    viewer.app.settings.cut = Cut::stage;
    const Image film = viewer.frame();
    EXPECT_EQ(viewer.app.tour_places[0].w, 0)
        << "the layout of the window is not drawn";
    viewer.app.settings.tracks = true;  // of the timeline
    viewer.app.settings.tree = true;    // of the calls
    EXPECT_EQ(viewer.frame().pixels, film.pixels);
    viewer.go("2:reduce");
    EXPECT_NE(viewer.frame().pixels, film.pixels);
  }
}

TEST(FilmCut, OfAPipelineFillsAndDrainsItsGridInTimeOrder) {
  Driver viewer("", 1080, 1080);
  open_pipeline(viewer);
  viewer.app.settings.transport.playing = true;
  int64_t before = INT64_MIN;
  size_t pictures = 0;
  while (viewer.app.settings.transport.playing && pictures < 400) {
    viewer.frame(0.2f);
    const Position& at = viewer.app.trace().position;
    EXPECT_EQ(at.order, Order::time);
    EXPECT_GE(at.time, before) << "time does not jump back";
    before = at.time;
    ++pictures;
  }
  const OpenTrace& trace = viewer.app.trace();
  const tracer::Pipeline& grid = grid_of(viewer);
  EXPECT_EQ(before, grid.end + trace.why->pipelines[trace.state.step].offset);
  EXPECT_NEAR(static_cast<double>(pictures) * 0.2, 26, 6);
  const auto& shots = trace.director.script.shots;
  ASSERT_EQ(shots.size(), 3u);
  EXPECT_TRUE(trace.director.script.grid);
  EXPECT_NE(shots[0].caption.find("fills"), std::string::npos);
  EXPECT_NE(shots[0].caption.find("device 3 begins"), std::string::npos);
  EXPECT_NE(shots[2].caption.find("drains"), std::string::npos);
  EXPECT_NE(shots[2].caption.find("device 3 was the first"), std::string::npos);
}

TEST(FilmCut, CaptionsOfAGridAreTrueForAllOfTheirTime) {
  Driver viewer("");
  open_pipeline(viewer);
  const OpenTrace& trace = viewer.app.trace();
  const tracer::Pipeline& grid = grid_of(viewer);
  const PipelinePlaces& places = trace.why->pipelines[trace.state.step];
  const Script script = script_of_grid(grid, places, trace.state.step, 0);
  for (const Shot& shot : script.shots) {
    const int64_t begin = shot.begin - places.offset, end = shot.end - places.offset;
    const std::string share = percent(passes_run(grid, begin, end));
    EXPECT_NE(shot.caption.find("passes run in **" + share + "**"), std::string::npos)
        << shot.caption << ", but " << share;
    const bool all = shot.caption.starts_with("**Every device has begun");
    for (const tracer::PipelineDevice& device : grid.devices) {
      const int64_t first = grid.passes[device.passes.front()].begin;
      const int64_t last = grid.passes[device.passes.back()].end;
      EXPECT_TRUE(!all || (first <= begin && last >= end)) << shot.caption;
    }
  }
  tracer::Pipeline slower = grid;  // a device idles where it ran a pass
  slower.devices[1].pieces.front().slot = tracer::Slot::pass;
  EXPECT_NE(script_of_grid(slower, places, trace.state.step, 0).shots[0].caption,
            script.shots[0].caption);
}

TEST(FilmCut, WhatIsStillToComeIsNotDrawn) {
  Driver viewer("", 1280, 720);
  open_pipeline(viewer);
  const tracer::Pipeline& grid = grid_of(viewer);
  const OpenTrace& trace = viewer.app.trace();
  const int64_t offset = trace.why->pipelines[trace.state.step].offset;
  const ImU32 forward = phase_colour(viewer.app.theme(), phases::forward);
  const auto boxes = [&](double share) {  // pixels of forward passes
    const auto at = static_cast<int64_t>(share * static_cast<double>(grid.length()));
    viewer.app.go({Order::time, grid.begin + offset + at, 0, 0.5f, 0});
    const Image& image = viewer.frame();
    return std::ranges::count(image.pixels, forward);
  };
  const auto early = boxes(0.05), middle = boxes(0.4), late = boxes(0.999);
  EXPECT_LT(2 * early, middle);
  EXPECT_LT(middle, late);
  viewer.app.settings.cut = Cut::window;
  EXPECT_GT(boxes(0.05) * 100, boxes(0.999) * 95) << "the window's shows all passes";
}

TEST(FilmCut, NumbersAreThoseOfTheStep) {
  Driver viewer("dp.json.gz", 1280, 720);
  viewer.go("2:reduce");
  OpenTrace& trace = viewer.app.trace();
  const std::vector<FilmNumber> numbers = film_numbers(trace);
  ASSERT_GE(numbers.size(), 4u);
  EXPECT_EQ(numbers[0].value, human_time(trace.step.length));
  EXPECT_EQ(numbers[0].words, "a training step of 8 images: 2.0 images/s");
  const tracer::SpentTimes& spent =
      trace.why->step(trace.model->steps[trace.state.step].number)->split.spent;
  const double whole = static_cast<double>(spent.sum());
  EXPECT_EQ(numbers[1].words, "of the devices' time: computing");
  EXPECT_EQ(numbers[1].value,
            percent(static_cast<double>(spent[tracer::Spent::computing]) / whole));
  int64_t most = 0;
  for (size_t i = 1; i < tracer::kSpents; ++i) most = std::max(most, spent.times[i]);
  EXPECT_EQ(numbers[2].value, percent(static_cast<double>(most) / whole));
  int64_t bytes[2] = {0, 0};  // into device 0, and out of it
  for (const PortBytes& port : trace.step.ports) {
    if (port.device == 0) bytes[port.out] += port.bytes;
  }
  EXPECT_EQ(numbers.back().value, human_bytes(std::max(bytes[0], bytes[1])));
  EXPECT_EQ(numbers.back().words, std::string(bytes[1] > bytes[0] ? "leave" : "reach") +
                                      " device 0, the most of any device");
  trace.step.length *= 2;  // a wrong step has another number
  EXPECT_NE(film_numbers(trace)[0].value, numbers[0].value);
  viewer.app.settings.cut = Cut::stage;
  const Image stage = viewer.frame();
  viewer.app.settings.cut = Cut::numbers;
  EXPECT_NE(viewer.frame().pixels, stage.pixels);
}

}  // namespace
}  // namespace lockstep::gui
