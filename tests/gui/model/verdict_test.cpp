// What the top bar says of a trace's laws: of the hand-written traces, and of copies in
// which one thing is broken.
#include "gui/model/verdict.h"

#include "gui/model/details.h"
#include "tests/gui/model/valid.h"
#include "tests/tracer/damaged_copies.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT
using tracer::testing::Damage;

Verdict verdict_of(const std::string& file) { return judge(load_file(file)); }

TEST(Verdict, OfAWholeTraceIsThatEveryLawHolds) {
  for (const std::string& file :
       {tracer::testing::minimal_path(), tracer::testing::minimal_ddp_path()}) {
    const Verdict verdict = verdict_of(file);
    EXPECT_EQ(verdict.state, Verdict::State::holds) << verdict_tip(verdict);
    EXPECT_EQ(verdict_words(verdict), "");
    EXPECT_NE(verdict_tip(verdict).find("laws hold"), std::string::npos);
  }
}

TEST(Verdict, OfADamagedCopyNamesTheLawAndTheEvent) {
  for (const Damage& damage : tracer::testing::kDamagedDataParallel) {
    const std::string path =
        (golden() / "damaged" / tracer::testing::file_of(damage)).string();
    SCOPED_TRACE(path);
    const Model model = load_file(path);
    const Verdict verdict = judge(model);
    ASSERT_EQ(verdict.state, Verdict::State::broken);
    const auto of_law =
        std::find_if(verdict.violations.begin(), verdict.violations.end(),
                     [&](const Verdict::Violation& v) { return v.law == damage.law; });
    ASSERT_NE(of_law, verdict.violations.end());
    EXPECT_EQ(of_law->message, damage.sentence);
    EXPECT_NE(verdict_tip(verdict).find(verdict.violations.front().law),
              std::string::npos);
    EXPECT_EQ(verdict_words(verdict), "broken: " + verdict.violations.front().law);
    // Of these, the viewer shows no event: it is skipped, or another has its id.
    const std::string_view law = damage.law;
    const bool shown = law != "times" && law != "ids-unique";
    if (!shown || std::string_view(damage.event).empty()) continue;
    EXPECT_NE(of_law->event, kNoEvent);
  }
}

TEST(Verdict, OfALargeOrForeignTraceIsThatItWasNotChecked) {
  const Model model = load_file(tracer::testing::minimal_path());
  const Verdict large = judge(model, model.text.size() - 1);
  EXPECT_EQ(large.state, Verdict::State::not_checked);
  EXPECT_EQ(verdict_words(large), "not checked");
  EXPECT_NE(verdict_tip(large).find("trace check"), std::string::npos);
  EXPECT_EQ(judge(model, model.text.size()).state, Verdict::State::holds);
  const Verdict foreign = judge(load_events(x_event("0", "5", "")));
  EXPECT_EQ(foreign.state, Verdict::State::not_checked);
}

TEST(Verdict, OfACutFileIsWhatIsWrongWithIt) {
  std::string text = tracer::read_whole_file(tracer::testing::minimal_path());
  text.resize(text.size() - 200);
  const Verdict verdict = judge(load_model("cut.json", text));
  ASSERT_EQ(verdict.state, Verdict::State::broken);
  EXPECT_EQ(verdict.violations.front().law, "format");
  EXPECT_NE(verdict.violations.front().message.find("cut.json"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::gui
