// "Why not 4x?" of a large trace is computed on a thread beside the frames.
#include "gui/screen/why_job.h"

#include <gtest/gtest.h>

#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

/// A viewer that waits for the analysis, as after opening more than kAnalysedAtOnce
/// events.
struct WaitingViewer : Driver {
  WaitingViewer() : Driver("dp.json.gz") {
    app.trace().why = nullptr;
    app.settings.why = true;
  }
};

TEST(WhyJob, HandsOverWhatAnalysingAtOnceFinds) {
  WaitingViewer viewer;
  WhyJob job;
  job.update(viewer.app);
  EXPECT_TRUE(job.is_running());
  while (job.is_running()) {
    viewer.frame();  // the Model is drawn while the thread reads the same text
    job.update(viewer.app);
  }
  ASSERT_NE(viewer.app.trace().why, nullptr);
  const auto at_once = placed(viewer.model(), analyse(why_source(viewer.model())));
  const Why& why = *viewer.app.trace().why;
  EXPECT_EQ(why.limit, at_once->limit);
  ASSERT_EQ(why.paths.size(), at_once->paths.size());
  for (size_t i = 0; i < why.paths.size(); ++i) {
    EXPECT_EQ(why.paths[i].size(), at_once->paths[i].size());
  }
  EXPECT_FALSE(viewer.app.message.starts_with("Computing") &&
               viewer.app.message_left > 0)
      << "it is done";
}

TEST(WhyJob, ClosingTheTraceStopsIt) {
  WaitingViewer viewer;
  WhyJob job;
  job.update(viewer.app);
  viewer.app.close_trace(0);
  while (job.is_running()) job.update(viewer.app);
  EXPECT_FALSE(viewer.app.has_trace());
  viewer.frame();
}

TEST(WhyJob, CanBeDestroyedWhileItRuns) {
  WaitingViewer viewer;
  WhyJob job;
  job.update(viewer.app);
}

TEST(WhyJob, StoppedWorkThrowsAndIsNoProblemOfTheTrace) {
  WaitingViewer viewer;
  Work work;
  work.cancel();
  EXPECT_THROW(analyse(why_source(viewer.model()), work), Cancelled);
  Work other;
  EXPECT_EQ(analyse(why_source(viewer.model()), other).why.problem, "");
  EXPECT_STREQ(other.doing(), "following the longest path");
}

}  // namespace
}  // namespace lockstep::gui
