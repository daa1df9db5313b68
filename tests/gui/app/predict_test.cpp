// "Predict, then reveal", driven like a user.
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

/// Plays until a question is open, or the step ends.
void play_to_question(Driver& viewer) {
  Transport& transport = viewer.app.settings.transport;
  transport.playing = true;
  transport.speed = 8;
  for (int i = 0; i < 100 && transport.playing; ++i) viewer.frame(0.1f);
}

std::string asked_before(Driver& viewer) {
  const Quiz& quiz = viewer.app.trace().quiz;
  if (!quiz.is_open()) return "";
  const Event& phase = viewer.model().events[quiz.questions[quiz.asking].phase];
  return viewer.model().name_of(phase);
}

TEST(Predict, PausesBeforeAPhaseAndGoesOnAfterTheAnswer) {
  Driver viewer("dp.json.gz", 900, 600);
  viewer.press('q');
  ASSERT_TRUE(viewer.app.settings.quiz);
  play_to_question(viewer);
  EXPECT_EQ(asked_before(viewer), "scatter");
  EXPECT_FALSE(viewer.app.settings.transport.playing);
  const Quiz& quiz = viewer.app.trace().quiz;
  const Event& phase = viewer.model().events[quiz.questions[quiz.asking].phase];
  EXPECT_LT(viewer.place(), phase.order) << "nothing of the phase is shown";
  EXPECT_FALSE(viewer.event().is_task()) << "its kernels may run later than the phase";
  EXPECT_FALSE(quiz.is_answered());
  viewer.press(static_cast<char>('1' + quiz.questions[quiz.asking].answer));
  EXPECT_TRUE(quiz.is_answered());
  EXPECT_TRUE(quiz.verdicts[quiz.asking].starts_with("**Right:**"));
  play_to_question(viewer);
  EXPECT_EQ(asked_before(viewer), "replicate");
}

TEST(Predict, TakesTypedAmounts) {
  Driver viewer("dp.json.gz", 900, 600);
  viewer.app.settings.quiz = true;
  viewer.go("2:replicate");
  ask_here(viewer.app);
  EXPECT_EQ(asked_before(viewer), "replicate");
  viewer.frame();
  viewer.frame();  // the field takes the keyboard
  viewer.screen.text("1 MB");
  viewer.frame();
  viewer.press(Key::enter);
  const Quiz& quiz = viewer.app.trace().quiz;
  ASSERT_TRUE(quiz.is_answered());
  EXPECT_TRUE(quiz.verdicts[quiz.asking].starts_with("You said 1.00 MB, but it is"))
      << quiz.verdicts[quiz.asking];
}

TEST(Predict, ASkippedQuestionIsNotAskedAgain) {
  Driver viewer("dp.json.gz", 900, 600);
  viewer.app.settings.quiz = true;
  play_to_question(viewer);
  EXPECT_EQ(asked_before(viewer), "scatter");
  play_to_question(viewer);
  EXPECT_EQ(asked_before(viewer), "replicate");
}

TEST(Predict, MovingAwayClosesTheQuestion) {
  Driver viewer("dp.json.gz", 900, 600);
  viewer.app.settings.quiz = true;
  play_to_question(viewer);
  EXPECT_NE(asked_before(viewer), "");
  viewer.press(Key::page_up);
  EXPECT_EQ(asked_before(viewer), "");
}

TEST(Predict, WithoutItNothingIsAsked) {
  Driver viewer("dp.json.gz", 900, 600);
  viewer.app.settings.transport.playing = true;
  for (int i = 0; i < 20; ++i) viewer.frame(0.5f);
  EXPECT_EQ(asked_before(viewer), "");
  EXPECT_TRUE(viewer.app.settings.transport.playing);
}

}  // namespace
}  // namespace lockstep::gui
