#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

// No answers are stored here: the tests read them from the lesson's recorded trace, of
// which the learner views a copy.

namespace lockstep::lessons::lesson_00 {

using tracer::Event;

/// Returns the lesson's own trace. The copy beside the learner's answers may have been
/// edited or replaced.
const tracer::Trace& recorded_trace(const Exam& exam) {
  static const tracer::Trace trace = exam.published_trace();
  return trace;
}

// --- parsing answers ---

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

/// Returns `torchnnmodulecallimpl` for `torch.nn.Module._call_impl()`.
std::string letters(const std::string& text) {
  std::string kept = lower(text);
  std::erase_if(kept, [](unsigned char c) { return !std::isalnum(c); });
  return kept;
}

/// Returns the first number in `1,234,567 bytes`, `1.23 MB`, `1,2 mb`, `six`, `2 of 3`,
/// in bytes if it has a unit.
std::optional<double> number_in(const std::string& answer) {
  constexpr std::array kWords = {"zero", "one",    "two",    "three", "four",
                                 "five", "six",    "seven",  "eight", "nine",
                                 "ten",  "eleven", "twelve", "none"};
  const std::string text = lower(answer);
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (letters(text).starts_with(kWords[i])) return i % (kWords.size() - 1);
  }
  const size_t begin = text.find_first_of("0123456789");
  if (begin == std::string::npos) return {};
  const size_t last = text.find_first_not_of("0123456789.,'_ ", begin);
  std::string digits = text.substr(begin, last - begin);
  const std::string unit = last == std::string::npos ? "" : text.substr(last);
  double scale = 1;
  for (const auto& [name, size] : std::map<std::string, double>{
           {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"kib", 0x1p10}, {"mib", 0x1p20}}) {
    if (unit.starts_with(name)) scale = size;
  }
  digits.erase(digits.find_last_of("0123456789") + 1);
  // 9.46 and 9,46 have a decimal separator; 9,461,800 and 9.461.800 do not.
  const size_t mark = digits.find_last_of(".,");
  bool decimal = mark != std::string::npos && digits.find(digits[mark]) == mark;
  if (decimal && digits.find_first_of(".,") == mark && digits.size() - mark == 4) {
    decimal = digits[mark] == '.' && scale > 1;
  }
  std::string plain;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(digits[i]))) plain += digits[i];
    if (decimal && i == mark) plain += '.';
  }
  return std::stod(plain) * scale;
}

/// Wrong numbers, each with the idea that leads to it.
using Ideas = std::vector<std::pair<double, std::string>>;

bool near(double a, double b) { return std::abs(a - b) <= 0.01 * b; }

/// Returns the learner's answer. Throws Wrong if there is none.
std::string answer(const Exam& exam, int question) {
  const std::string text = exam.answer(question);
  exam.that(!text.empty(), fmt::format("your answer to question {}", question),
            "an answer", "nothing yet",
            {"write it on a separate line below the question, without a # before it",
             "Looking around"});
  return text;
}

void expect_number(const Exam& exam, int question, double right, const Ideas& ideas,
                   Because because) {
  const std::string text = answer(exam, question);
  const std::optional<double> got = number_in(text);
  for (const auto& [number, idea] : ideas) {
    if (got && near(*got, number)) because.likely = idea;
  }
  exam.that(got && near(*got, right),
            fmt::format("your answer to question {}", question),
            "the value in the trace (look again)", text, because);
}

// --- reading the trace ---

/// Returns the calls that enclose an event on its lane, innermost last.
Events callers(const tracer::Trace& trace, const Event& of) {
  Events found;
  for (const Event* call : events_of(trace, "call")) {
    const bool same_lane = call->pid == of.pid && call->tid == of.tid;
    if (same_lane && call != &of && call->ts <= of.ts && of.end() <= call->end()) {
      found.push_back(call);
    }
  }
  return found;
}

/// Returns rank 0's all-reduces of buckets, by bucket.
std::map<int64_t, const Event*> buckets(const tracer::Trace& trace) {
  std::map<int64_t, const Event*> found;
  for (const Event* event : events_of(trace, "collective")) {
    const int64_t bucket = number(*event, "bucket");
    if (bucket >= 0 && number(*event, "rank") == 0) found[bucket] = event;
  }
  return found;
}

/// Returns the messages of bucket 0 that rank 0 receives.
Events messages_of_bucket_0(const tracer::Trace& trace) {
  const Event& bucket = *buckets(trace).at(0);
  Events found;
  for (const Event* copy : copies_because(trace, "all_reduce")) {
    const bool of_it = number(*copy, "seq") == number(bucket, "seq");
    if (of_it && number(*copy, "rank") == 0) found.push_back(copy);
  }
  return found;
}

LESSON_TEST(0, who_calls_forward, "1: who calls ResNet.forward") {
  const tracer::Trace& trace = recorded_trace(exam);
  const Event& forward = *events_of(trace, "call", "ResNet.forward").at(0);
  const Events above = callers(trace, forward);
  const std::string text = answer(exam, 1), got = letters(text);
  const std::string right = letters(above.back()->name);
  Because because{
      "stop at ResNet.forward: in the CALLS panel its caller is directly above it",
      "Who calls forward", forward.id};
  for (const Event* call : above) {
    if (got != letters(call->name) || call == above.back()) continue;
    because.likely = call->name +
                     " is further up: it calls a function that runs the hooks first "
                     "and then calls forward";
  }
  const bool short_name = got.size() >= 8 && right.ends_with(got);
  exam.that(short_name || got.ends_with(right), "your answer to question 1",
            "the call directly above ResNet.forward", text, because);
}

LESSON_TEST(0, bucket_of_last_layer,
            "2: which bucket fc.weight's gradient travels in") {
  double right = -1;
  for (const auto& [bucket, event] : buckets(recorded_trace(exam))) {
    for (const auto& parameter : event->args["params"]) {
      if (parameter == "fc.weight") right = static_cast<double>(bucket);
    }
  }
  expect_number(exam, 2, right, {},
                {"buckets are filled in the order in which gradients become ready, and "
                 "the last layer's is ready first, because backward begins there",
                 "What travels in a bucket"});
}

LESSON_TEST(0, bytes_of_bucket, "3: how many bytes of gradients are in bucket 0") {
  const tracer::Trace& trace = recorded_trace(exam);
  const double right = static_cast<double>(number(*buckets(trace).at(0), "bytes"));
  const Events messages = messages_of_bucket_0(trace);
  double all = 0;
  for (const auto& [bucket, event] : buckets(trace)) {
    all += static_cast<double>(number(*event, "bytes"));
  }
  Ideas ideas = {
      {static_cast<double>(number(*messages.front(), "bytes")),
       "this is one chunk, a quarter of the bucket: the ring splits the bucket into as "
       "many chunks as there are ranks"},
      {static_cast<double>(bytes_of(messages)),
       "this is what one rank receives while the bucket's chunks travel around the "
       "ring; the bucket holds less"},
      {all, "these are all gradients of the model: the sum over all buckets"},
      {0x1p20,
       "1 MiB is the size at which bucket 0 is closed; the gradient that crosses this "
       "limit is still added as a whole, and here it is large"}};
  for (double size : {1e3, 1e6, 0x1p10, 0x1p20}) {
    ideas.emplace_back(right / size,
                       "the digits are right, but a number without a unit means bytes: "
                       "write kB or MB after it");
  }
  expect_number(exam, 3, right, ideas,
                {"stop at an all_reduce of bucket 0: its bytes are shown in the middle "
                 "of the ring",
                 "What travels in a bucket"});
}

LESSON_TEST(0, messages_per_rank, "4: how many messages a rank receives") {
  const tracer::Trace& trace = recorded_trace(exam);
  const double right = static_cast<double>(messages_of_bucket_0(trace).size());
  const double ranks = static_cast<double>(trace.lockstep.at("devices").size());
  const Ideas ideas = {
      {right / 2,
       "after N - 1 messages a rank has the complete sum of only one chunk; the sums "
       "must still be handed out, which takes another N - 1 messages"},
      {right * ranks, "these are the messages of all ranks together"},
      {right * static_cast<double>(buckets(trace).size()),
       "these are the messages of all buckets together"}};
  expect_number(
      exam, 4, right, ideas,
      {"stop at a message of bucket 0: the sentence on the stage shows which round it "
       "is and how many rounds there are; a rank receives one message per round",
       "Around the ring"});
}

LESSON_TEST(0, begun_during_backward, "5: how many buckets leave during backward") {
  const tracer::Trace& trace = recorded_trace(exam);
  int64_t backward_ends = 0;
  for (const Event* kernel : in_phase(trace, "backward")) {
    if (number(*kernel, "rank") == 0) {
      backward_ends = std::max(backward_ends, kernel->end());
    }
  }
  const auto all = buckets(trace);
  const auto right = std::ranges::count_if(
      all, [&](const auto& bucket) { return bucket.second->ts < backward_ends; });
  const Ideas ideas = {
      {0,
       "DDP does not wait for the end of backward, nor for optimizer.step(): a "
       "bucket leaves when its last gradient is ready"},
      {static_cast<double>(all.size()),
       "the last bucket holds conv1's gradient, which the very last kernel computes: "
       "no computation is left to overlap with"}};
  expect_number(exam, 5, static_cast<double>(right), ideas,
                {"on the timeline, compare the start of each all_reduce of rank 0 with "
                 "the end of the last kernel of backward on device 0",
                 "While backward still runs"});
}

}  // namespace lockstep::lessons::lesson_00
