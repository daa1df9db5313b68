#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "lessons/machine/exam.h"
#include "lessons/machine/lesson.h"
#include "lessons/machine/suspicions.h"

// No answers are stored here: each recording is investigated by the rules of
// lessons/machine/suspicions.h, which find the fault and the events that prove it.

namespace lockstep::lessons::lesson_16 {

using tracer::Event;

/// What a learner wrote about a recording: `1234 loader`.
struct Answer {
  std::string text;
  int64_t event = tracer::kNone;
  int numbers = 0;
  std::optional<Suspicion> reason;
};

Answer answer_in(std::string text) {
  Answer answer{text};
  bool digit = false;
  for (const char c : text) {
    const bool before =
        std::exchange(digit, std::isdigit(static_cast<unsigned char>(c)));
    if (digit && !before) ++answer.numbers;
  }
  const size_t digits = text.find_first_of("0123456789");
  if (digits != std::string::npos) {
    size_t end = digits;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) {
      ++end;
    }
    const bool plausible = end - digits < 10;
    if (plausible) answer.event = std::stoll(text.substr(digits, end - digits));
  }
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  answer.reason = suspicion_in(text);
  return answer;
}

std::string one_line(const std::string& lines) {
  std::string text;
  for (const char c : lines) text += c == '\n' ? " / " : std::string(1, c);
  return text;
}

/// Returns a recording as it was published, whatever became of the learner's copy.
tracer::Trace published(int recording) {
  const std::string name = fmt::format("cases/{:02}.json.gz", recording);
  const auto copy = std::filesystem::temp_directory_path() /
                    fmt::format("lockstep-{}-{}", getpid(), recording);
  std::ofstream(copy, std::ios::binary) << lesson_file("16-detective", name).value();
  tracer::Trace trace = tracer::read_trace(copy);
  std::filesystem::remove(copy);
  return trace;
}

/// Returns the fault of a recording.
std::pair<Suspicion, Finding> fault_of(const tracer::Trace& trace) {
  std::optional<std::pair<Suspicion, Finding>> fault;
  for (const Suspicion suspicion : all_suspicions()) {
    Finding finding = investigate(trace, suspicion);
    if (finding.guilty.empty()) continue;
    if (fault) throw std::logic_error("a recording with two faults");
    fault.emplace(suspicion, std::move(finding));
  }
  if (!fault) throw std::logic_error("a recording without a fault");
  return *std::move(fault);
}

void judge_recording(const Exam& exam, int recording) {
  const std::string what = fmt::format("your answer to recording {}", recording);
  const Answer answer = answer_in(exam.answer(recording, 2));
  exam.that(
      !answer.text.empty(), what, "an event and a reason", "nothing yet",
      {"write them on a separate line below the recording, without a # before them: "
       "1234 loader",
       "Exercise"});
  exam.that(answer.text.find('\n') == answer.text.npos, what,
            "one line with an event and a reason", one_line(answer.text),
            {"an answer is one line, an event and its reason, and there are several "
             "below this recording: leave the one that you can prove",
             "Exercise"});
  exam.that(answer.numbers < 2, what, "the number of one event, and a reason",
            answer.text,
            {"one event is judged, and there are several numbers: leave the one whose "
             "event proves the fault",
             "Exercise"});
  const tracer::Trace trace = published(recording);
  std::vector<std::string> reasons;
  for (const Suspicion each : all_suspicions()) reasons.emplace_back(name(each));
  exam.that(answer.reason.has_value(), what,
            fmt::format("one of the reasons {}", fmt::join(reasons, ", ")), answer.text,
            {"one recording has one fault: write its name, as it is in the list",
             "Exercise"});
  const auto& [fault, finding] = fault_of(trace);
  exam.that(answer.reason == fault, what, "the reason that the trace proves",
            answer.text,
            {fmt::format("{} is cleared: {}", name(*answer.reason),
                         investigate(trace, *answer.reason).because),
             "Ten suspects"});
  const Event* event = event_with_id(trace, answer.event);
  exam.that(event != nullptr, what, "the number of an event of this recording",
            answer.text,
            {"the reason is right. EVENT shows the number of each event as `id`",
             "From symptom to cause"});
  const bool guilty = std::ranges::count(finding.guilty, event) > 0;
  exam.that(guilty, what, "an event that proves it", answer.text,
            {guilty ? "" : "the reason is right, but " + why_not(*event, finding),
             "From symptom to cause", answer.event});
}

LESSON_TEST(16, recording_1, "recording 1") { judge_recording(exam, 1); }
LESSON_TEST(16, recording_2, "recording 2") { judge_recording(exam, 2); }
LESSON_TEST(16, recording_3, "recording 3") { judge_recording(exam, 3); }
LESSON_TEST(16, recording_4, "recording 4") { judge_recording(exam, 4); }
LESSON_TEST(16, recording_5, "recording 5") { judge_recording(exam, 5); }
LESSON_TEST(16, recording_6, "recording 6") { judge_recording(exam, 6); }
LESSON_TEST(16, recording_7, "recording 7") { judge_recording(exam, 7); }
LESSON_TEST(16, recording_8, "recording 8") { judge_recording(exam, 8); }
LESSON_TEST(16, recording_9, "recording 9") { judge_recording(exam, 9); }
LESSON_TEST(16, recording_10, "recording 10") { judge_recording(exam, 10); }

}  // namespace lockstep::lessons::lesson_16
