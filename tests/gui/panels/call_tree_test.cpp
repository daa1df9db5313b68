// The tree of a step's calls, clicked from top to bottom.
#include <gtest/gtest.h>

#include "tests/gui/panels/timeline_stage.h"

namespace lockstep::gui::timeline {
namespace {

/// The names of the events that clicks select, from the first row to the last.
std::vector<std::string> clicked(Stage& stage) {
  std::vector<std::string> names;
  for (float y = 2; y < 200; y += 4) {
    stage.click(300, y);
    const std::string name = stage.trace().model->name_of(
        stage.trace().model->events[stage.trace().state.event]);
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

TEST(CallTreePanel, HasARowForEachCall) {
  Stage stage(small(), 600, 400, draw_call_tree);
  EXPECT_EQ(clicked(stage),
            (std::vector<std::string>{"step", "aten::conv2d", "conv2d", "relu",
                                      "ConvolutionBackward0", "conv2d_backward_data"}));
}

}  // namespace
}  // namespace lockstep::gui::timeline
