// The questions about a step. Answers are compared with what the tracer computes of the
// same file: its summary and the bytes and times of single events.
#include "gui/model/quiz.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/units.h"
#include "gui/model/details.h"
#include "tests/gui/model/made_trace.h"
#include "tests/gui/model/valid.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/trace.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

/// The questions of a made step, by the phase before which they are asked.
std::map<std::string, Question> asked(const Model& model, size_t step = 0) {
  std::map<std::string, Question> all;
  for (const Question& question : questions_of(model, step, 0)) {
    all[model.name_of(model.events[question.phase])] = question;
  }
  return all;
}

std::string answer(const Question& question) {
  return question.choices.at(question.answer);
}

constexpr const char* kDp = R"(
phase step 0 0 99000 kind=train batch=7 chunks=[3,3,1] input_on=host
phase scatter 0 1000 100
copy images 1 1010 10 op=2 why=scatter src=host dst=0 bytes=30
phase replicate 0 2000 1000
copy weights 2 2500 100 op=4 phase=replicate why=replicate src=0 dst=1 bytes=800000
copy weights 3 2600 100 op=4 phase=replicate why=replicate src=0 dst=2 bytes=800000
phase parallel_apply 0 10000 100
kernel conv2d 1 12000 1000 op=7 phase=parallel_apply
kernel conv2d 2 12000 5000 op=7 phase=parallel_apply
kernel conv2d 3 12000 2000 op=7 phase=parallel_apply
phase gather 0 20000 100
copy outputs 1 20010 10 op=11 why=gather src=1 dst=0 bytes=20
phase backward 0 30000 9000
phase reduce 0 31000 900
copy grads 1 31100 100 op=14 phase=reduce why=reduce src=1 dst=0 bytes=500000
copy grads 1 31200 100 op=14 phase=reduce why=reduce src=2 dst=0 bytes=300000
)";

TEST(Questions, OfDataParallelAreAnsweredByItsEvents) {
  const Model model = made("dp", kDp).model();
  auto all = asked(model);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(answer(all["scatter"]), "1 image");
  EXPECT_EQ(
      all["scatter"].because,
      "The chunks are 3, 3, 1. Each has 7/3 images, rounded up; the last one gets "
      "what is left.");
  EXPECT_EQ(all["replicate"].text,
            "How many bytes leave device 0's port in **replicate**?");
  EXPECT_EQ(all["replicate"].bytes, 1'600'000);
  EXPECT_EQ(answer(all["replicate"]), "1.60 MB");
  EXPECT_EQ(all["replicate"].because,
            "800 kB to each of the 2 other devices, in 2 copies.");
  EXPECT_EQ(answer(all["gather"]), "device 1");
  EXPECT_EQ(
      all["gather"].because,
      "It finished its forward 3.00 ms after device 2, and 4.00 ms after device 0.");
  EXPECT_EQ(all["reduce"].bytes, 800'000);
  EXPECT_EQ(all["reduce"].because, "2 copies move 800 kB.") << "not equal from each";
}

/// Removes the lines with these words.
std::string without(std::string lines, const std::string& word) {
  for (size_t at; (at = lines.find(word)) != lines.npos;) {
    const size_t begin = lines.rfind('\n', at), end = lines.find('\n', at);
    lines.erase(begin, end - begin);
  }
  return lines;
}

TEST(Questions, AreNotAskedWithoutAnAnswer) {
  std::string text = kDp;
  text.replace(text.find("[3,3,1]"), 7, "[3,3]");  // does not add up to the batch
  auto all = asked(made("dp", text.c_str()).model());
  EXPECT_FALSE(all.contains("scatter"));
  EXPECT_TRUE(all.contains("replicate"));
  all = asked(made("dp", without(kDp, "why=replicate").c_str()).model());
  EXPECT_FALSE(all.contains("replicate")) << "nothing is copied";
  text = kDp;
  text.replace(text.find("12000 5000"), 10, "12000 2000");
  all = asked(made("dp", text.c_str()).model());
  EXPECT_FALSE(all.contains("gather")) << "two devices finish at the same time";
  text = kDp;
  text.replace(text.find("src=0 dst=2"), 11, "src=1 dst=2");
  all = asked(made("dp", text.c_str()).model());
  EXPECT_FALSE(all.contains("replicate")) << "two devices send";
}

TEST(Questions, OfAnotherProgramAreNotAsked) {
  const Model model = load_events(x_event("0", "5", "") + "," + x_event("1", "2", ""));
  EXPECT_TRUE(questions_of(model, 0, 0).empty());
}

Model null_devices(const std::string& file) {
  std::string text = tracer::read_whole_file(golden() / "viewer" / file);
  for (size_t at = 0; (at = text.find("\"cpu:", at)) != text.npos;) {
    text.replace(at, 5, "\"null:");
  }
  return load_model(file, text);
}

TEST(Questions, OfNullDevicesAreNotAboutTimes) {
  const Model model = null_devices("dp.json.gz");
  ASSERT_FALSE(model.has_device_times());
  const auto all = asked(model);
  EXPECT_TRUE(all.contains("replicate"));
  EXPECT_FALSE(all.contains("gather"));
  EXPECT_TRUE(asked(null_devices("single.json.gz")).empty());
}

std::vector<std::string> recorded_files() {
  std::vector<std::string> files;
  for (const char* name : {"dp", "ddp", "dp_features", "single"}) {
    files.push_back(golden() / "viewer" / (std::string(name) + ".json.gz"));
  }
  const auto lessons = golden().parent_path().parent_path() / "lessons";
  for (const char* name : {"00-first-trace", "05-scatter", "06-reduce", "09-ring",
                           "11-ddp-naive", "12-ddp-buckets"}) {
    files.push_back(lessons / name / "trace.json.gz");
  }
  return files;
}

TEST(Questions, OfRecordedTracesAreWellFormed) {
  std::set<std::string> phases_asked;
  for (const std::string& file : recorded_files()) {
    SCOPED_TRACE(file);
    const Model model = load_file(file);
    for (int rank = 0; rank < model.ranks(); ++rank) {
      std::set<uint32_t> before;
      for (const Question& question : questions_of(model, 0, rank)) {
        phases_asked.insert(model.name_of(model.events[question.phase]));
        EXPECT_TRUE(before.insert(question.phase).second) << "one per phase";
        EXPECT_EQ(model.rank_of(question.phase), rank);
        EXPECT_GE(question.choices.size(), 2u) << question.text;
        EXPECT_LE(question.choices.size(), 4u) << question.text;
        EXPECT_LT(question.answer, question.choices.size());
        EXPECT_EQ(std::set(question.choices.begin(), question.choices.end()).size(),
                  question.choices.size());
        if (question.bytes < 0) continue;
        EXPECT_EQ(answer(question), human_bytes(question.bytes));
        for (size_t i = 0; i < question.choices.size(); ++i) {
          const auto bytes = parse_bytes(question.choices[i]);
          ASSERT_TRUE(bytes) << question.choices[i];
          EXPECT_EQ(is_right(question, *bytes), i == question.answer);
        }
      }
    }
  }
  for (const char* phase :
       {phases::scatter, phases::replicate, phases::reduce, phases::all_reduce}) {
    EXPECT_TRUE(phases_asked.contains(phase)) << phase;
  }
}

/// `trace summary` computes the bytes per port and reason on its own.
TEST(Questions, AboutBytesAgreeWithTheSummary) {
  const std::string file = golden() / "viewer/dp.json.gz";
  const Model model = load_file(file);
  const tracer::Trace trace = tracer::read_trace(file);
  const tracer::Summary summary = tracer::summarize(trace);
  auto all = asked(model, 0);
  const int64_t steps = static_cast<int64_t>(model.steps.size());
  ASSERT_EQ(steps, 1);
  for (const char* why : {phases::replicate, phases::reduce}) {
    EXPECT_EQ(all[why].bytes, summary.train.bytes_by_why.at(why)) << why;
  }
}

/// 2 (N - 1) / N of the data, as the ring's messages show.
TEST(Questions, AboutTheRingFollowItsLaw) {
  const Model model = load_file(golden() / "viewer/ddp.json.gz");
  auto all = asked(model);
  ASSERT_TRUE(all.contains("all_reduce"));
  const Question& ring = all["all_reduce"];
  EXPECT_EQ(ring.bytes, 2 * 2 * 48 / 3);
  EXPECT_NE(ring.because.find("2 × 2/3 of the data"), std::string::npos)
      << ring.because;
}

TEST(Verdicts, SayTheDifference) {
  const Question bytes{0, "", {"44.7 MB", "134 MB"}, 1, 134'000'000, "3 × 44.7 MB."};
  EXPECT_EQ(verdict_on_bytes(bytes, 134'400'000), "**Right:** 134 MB. 3 × 44.7 MB.");
  EXPECT_EQ(verdict_on_bytes(bytes, 67'000'000),
            "You said 67.0 MB, but it is **134 MB**: 2 times as much. 3 × 44.7 MB.");
  EXPECT_EQ(verdict_on_bytes(bytes, 268'000'000),
            "You said 268 MB, but it is **134 MB**: 1/2 of that. 3 × 44.7 MB.");
  const Question who{0, "", {"device 0", "device 3"}, 1, -1, "It ended last."};
  EXPECT_EQ(verdict_on_choice(who, 1), "**Right:** device 3. It ended last.");
  EXPECT_EQ(verdict_on_choice(who, 0),
            "You said device 0, but it is **device 3**. It ended last.");
}

TEST(Verdicts, ReadTypedAmounts) {
  EXPECT_EQ(parse_bytes("134 MB"), 134'000'000);
  EXPECT_EQ(parse_bytes("1.5kb"), 1'500);
  EXPECT_EQ(parse_bytes("2e6"), 2'000'000);
  EXPECT_EQ(parse_bytes("640 B"), 640);
  for (const char* wrong : {"", "many", "5 MiB", "-3 MB", "1e30", "nan"}) {
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace lockstep::gui
