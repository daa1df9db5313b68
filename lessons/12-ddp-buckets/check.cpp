#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "lessons/machine/exam.h"
#include "lessons/machine/noted.h"
#include "lessons/machine/predicates.h"
#include "lessons/machine/ranks.h"
#include "lessons/machine/reducer_by_hand.h"
#include "lessons/plugin.h"
#include "tracer/analysis/communication.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/keys.h"

namespace lockstep::lessons::lesson_12 {

using distributed::ProcessGroup;
using Numbers = std::vector<double>;
using Buckets = std::vector<int64_t>;

const Because kNeverComplete{
    "a bucket that is never complete never leaves, and the other ranks are matched "
    "with the next one or wait forever: in after_backward, treat missing gradients, "
    "and only those, as zeros that have arrived. `arrived_` is set for each gradient "
    "that comes, and reset in before_backward",
    "The way back"};

const std::vector<size_t> kBackwards{5, 4, 3, 2, 1, 0};

LESSON_TEST(12, cut_backwards, "parameters are cut into buckets from the last one on") {
  Noted* const calls = new Noted;
  ProcessGroup group{std::unique_ptr<Noted>(calls)};
  ByHand by_hand(group, {DeviceType::reference, 0});
  step_as_far_as_written(by_hand, *calls, kBackwards);
  exam.that(!calls->buckets.empty(), "buckets launched for 6 gradients", "4", "none",
            {"no bucket was ever complete: before_backward must reset what is counted "
             "(`missing` to the number of members, nothing arrived, bucket 0 next)",
             "Turns"});
  Buckets bytes;
  for (const auto& [bucket, size] : calls->buckets) bytes.push_back(size);
  exam.equal(
      "bytes per bucket, for 6 parameters of 32, 48, 16, 72, 24 and 40 bytes and a cap "
      "of 64",
      Buckets{64, 72, 64, 32}, bytes,
      {"backward produces the last parameters' gradients first: a bucket that holds "
       "the first layer's gradient can leave only at the very end, and so can a single "
       "bucket for everything. Walk backwards, and close a bucket when it reaches the "
       "cap",
       "Which gradients travel together"});
}

/// Throws Wrong unless parameters of these bytes leave in these buckets.
void expect_buckets(const Exam& exam, const Buckets& parameters, int64_t cap,
                    const Buckets& expected, const std::string& likely) {
  Noted* const calls = new Noted;
  ProcessGroup group{std::unique_ptr<Noted>(calls)};
  ByHand by_hand(group, {DeviceType::reference, 0}, parameters, cap);
  std::vector<size_t> order(parameters.size());
  std::iota(order.rbegin(), order.rend(), 0);
  step_as_far_as_written(by_hand, *calls, order);
  Buckets bytes;
  for (const auto& [bucket, size] : calls->buckets) bytes.push_back(size);
  exam.equal(fmt::format("bytes per bucket, for parameters of {} bytes and a cap of {}",
                         parameters, cap),
             expected, bytes, {likely, "Which gradients travel together"});
}

LESSON_TEST(12, limits, "a bucket is closed by the gradient that reaches its limit") {
  expect_buckets(exam, {40, 40, 40, 40}, 64, {80, 80},
                 "a gradient that crosses the limit still belongs to the bucket, and "
                 "closes it: a bucket may be larger than its limit, as PyTorch's are");
  expect_buckets(exam, {8, 1'020'000, 1'020'000}, 25 << 20, {2'040'000, 8},
                 "the first bucket's limit is 1 MiB, plan::kFirstBucketBytes = "
                 "1,048,576 bytes; `cap` limits only the others");
}

const std::vector<std::set<size_t>> kMembers{{5, 4}, {3}, {2, 1}, {0}};

std::string likely(const Buckets& expected, const Buckets& got,
                   const std::set<size_t>& arrived) {
  if (got.size() <= expected.size()) {
    return "a bucket did not leave in its turn: when one leaves, those after it may "
           "already be complete and waiting. And do not postpone this until backward "
           "is over: no computation would be left to overlap with";
  }
  for (size_t p : kMembers[got.back()]) {
    if (arrived.contains(p)) continue;
    return "a bucket left before its last gradient was in it: count how many are "
           "missing";
  }
  return "a bucket left before its turn. It is complete, but its number is not next: "
         "another rank may complete the buckets in a different order, and then each "
         "waits forever for the other's first bucket";
}

LESSON_TEST(12, launched_in_turn, "a bucket leaves when it is complete, in its turn") {
  Noted* const calls = new Noted;
  ProcessGroup group{std::unique_ptr<Noted>(calls)};
  ByHand by_hand(group, {DeviceType::reference, 0});
  by_hand.begin();
  const std::vector<std::pair<size_t, Buckets>> story{
      {1, {}}, {3, {}}, {5, {}}, {4, {0, 1}}, {0, {0, 1}}, {2, {0, 1, 2, 3}}};
  std::set<size_t> arrived;
  for (const auto& [p, expected] : story) {
    by_hand.ready(p);
    runtime::context(by_hand.device).synchronize();
    arrived.insert(p);
    Buckets launched;
    for (const auto& [bucket, size] : calls->buckets) launched.push_back(bucket);
    exam.equal(fmt::format("buckets {{p5, p4}}, {{p3}}, {{p2, p1}}, {{p0}}; gradients "
                           "{} have arrived: launched",
                           arrived),
               expected, launched, {likely(expected, launched, arrived), "Turns"});
  }
}

constexpr const char* kRun =
    "-a resnet18 --dataset generated --device-type null --mode ddp --devices 2 -b 64 "
    "--steps 2 --trace-steps 1:2 --timeout 5";
const Because kRunFails{
    "two ranks train with your reducer; its output is printed below", "Turns"};

/// Step 1 of that run, which is recorded once.
const tracer::Trace& learners_run(Exam& exam) { return exam.train(kRun, kRunFails); }

/// Returns the all-reduces of step 1, of all ranks.
Events all_reduces(const tracer::Trace& trace) {
  Events found;
  for (const tracer::Event* event : events_of(trace, "collective")) {
    if (text(*event, tracer::keys::why) == "all_reduce") found.push_back(event);
  }
  return found;
}

/// Expects that the host waits for no device in these functions of the learner's.
void expect_no_waits(const Exam& exam, const tracer::Trace& trace,
                     const std::vector<std::string>& functions, Because because) {
  const Events waits = host_waits_in(trace, functions);
  if (!waits.empty()) because.event = waits.back()->id;
  exam.equal(fmt::format("times in a step that the host waits for a device in {}",
                         fmt::join(functions, " and ")),
             size_t{0}, waits.size(), because);
}

LESSON_TEST(12, in_flight, "few messages, and backward continues") {
  const tracer::Trace& trace = learners_run(exam);
  Events buckets;
  for (const tracer::Event* event : all_reduces(trace)) {
    if (number(*event, "rank") == 0) buckets.push_back(event);
  }
  exam.that(
      !buckets.empty(), "all-reduces of gradients in step 1", "some", "none",
      {"step 0 was right: the gradients must be counted again in each step", "Turns"});
  const Because in_hook{
      "the host waits in the hook, and enqueues nothing more of backward meanwhile. "
      "Only the bucket must wait: for the events in its `after`",
      "Turns"};
  const Because afterwards{
      "the host waits until the sums have arrived, so the optimizer's kernels are "
      "enqueued late. A Work's wait() is enough: it makes the device wait, not the "
      "host",
      "The way back"};
  expect_no_waits(exam, trace, {"gradient_ready"}, in_hook);
  expect_no_waits(exam, trace, {"before_backward", "after_backward"}, afterwards);
  exam.at_most("all-reduces of ResNet18's 62 gradients in a step", size_t{3},
               buckets.size(),
               {"each message pays its latency: after the first bucket of 1 MiB the "
                "limit is `cap`",
                "Which gradients travel together"});

  std::map<std::string, int64_t> kernel;  // that computed a gradient, by parameter
  int64_t last_gradient = tracer::kNone;
  for (const tracer::Event* mark : events_of(trace, "mark", "grad_ready")) {
    if (number(*mark, "rank") != 0) continue;
    last_gradient = number(*mark, "by");
    kernel[text(*mark, "param")] = last_gradient;
  }
  for (const tracer::Event* bucket : buckets) {
    const std::set<int64_t> deps(bucket->deps.begin(), bucket->deps.end());
    for (const std::string param : bucket->args["params"]) {
      exam.that(deps.contains(kernel[param]),
                fmt::format("dependencies of {} (#{}): the kernel #{} that computed "
                            "the gradient of {}",
                            text(*bucket, "tensor"), bucket->id, kernel[param], param),
                "among its deps", fmt::format("its deps are {}", bucket->deps),
                {"the trace must show which gradients a bucket waited for: add "
                 "now(parameter) to its `after` when one arrives",
                 "Turns", bucket->id});
    }
  }
  exam.that(
      !depends_on(trace, last_gradient, buckets[0]->id),
      fmt::format(
          "backward's last gradient (kernel #{}) waits for bucket 0's all-reduce (#{})",
          last_gradient, buckets[0]->id),
      "no", "yes",
      {"backward is blocked: wait() in a hook makes the compute stream wait. Wait when "
       "backward is over",
       "The way back", last_gradient});
  const tracer::Event* optimizer = nullptr;
  for (const tracer::Event* event : in_phase(trace, "optimizer")) {
    if (number(*event, "rank") == 0) optimizer = event;
  }
  exam.that(
      depends_on(trace, optimizer->id, buckets.back()->id),
      fmt::format("the optimizer's kernel (#{}) waits for the last all-reduce (#{})",
                  optimizer->id, buckets.back()->id),
      "yes", "no",
      {"buckets are unpacked while their sums are still arriving: wait() comes first",
       "The way back", optimizer->id});
}

LESSON_TEST(12, this_step_only, "a bucket waits for the gradients of its step only") {
  const tracer::Trace& trace = exam.train(
      "-a toy --device-type null --mode ddp --devices 2 -b 8 --length 64 --steps 2 "
      "--trace-steps 0:2 --timeout 5",
      kRunFails);
  for (const tracer::Event* bucket : all_reduces(trace)) {
    for (int64_t id : bucket->deps) {
      const tracer::Event* dep = event_with_id(trace, id);
      exam.that(
          dep == nullptr || dep->step == bucket->step,
          fmt::format("dependencies of {} (#{}) in step {}", text(*bucket, "tensor"),
                      bucket->id, bucket->step),
          "events of that step",
          fmt::format("also #{}, of step {}", id, dep ? dep->step : -1),
          {"its `after` still holds the events of the step before, and grows with "
           "every step: clear it in before_backward",
           "Turns", bucket->id});
    }
  }
}

/// Returns the misconception behind a gradient of p that is `factor` times rank 0's.
std::string why_not(double factor, double mean, int rank,
                    const std::string& otherwise) {
  const auto is = [&](double other) { return std::abs(factor - other) < 1e-9; };
  if (is(3 * mean)) {
    return "this is the sum over the ranks: all-reduce does not divide. Pack each "
           "gradient divided by divisor_";
  }
  if (is(rank + 1)) {
    return "this is still the rank's own gradient: the mean is in the bucket, and "
           "unpack copies it out";
  }
  if (is((rank + 1) / 3.0)) {
    return "this is only what this rank packed: the bucket was unpacked before its sum "
           "had arrived. wait() comes before unpack";
  }
  if (is(mean / 3)) {
    return "this is a third of the mean: it was divided twice. Divide when packing or "
           "when unpacking, not both";
  }
  return otherwise;
}

/// Runs these steps directly on three ranks, and expects mean_of_ranks · (10 p + i + 1)
/// in the gradients of `parameters` after the last one.
void expect_means(const Exam& exam, const std::string& when,
                  const std::vector<std::vector<std::vector<size_t>>>& orders,
                  const std::vector<size_t>& parameters, double mean_of_ranks,
                  const std::string& otherwise) {
  std::vector<std::map<size_t, Numbers>> got(3);
  HeadStart head;
  on_ranks(3, "all launch the same buckets in the same order", kNeverComplete,
           [&](Rank& rank) {
             ByHand by_hand(*rank.group, rank.device);
             for (const auto& order : orders) by_hand.step(order[rank.rank], &head);
             for (size_t p : parameters) got[rank.rank][p] = by_hand.gradient(p);
           });
  for (int r : {0, 1, 2}) {
    for (size_t p : parameters) {
      const double first = 10.0 * static_cast<double>(p) + 1;
      Numbers expected(kBytes[p] / 8);
      std::iota(expected.begin(), expected.end(), first);
      for (double& number : expected) number *= mean_of_ranks;
      const Numbers& mine = got[r][p];
      const std::string likely =
          mine.empty()
              ? "the rank has no gradient afterwards: the mean was not written "
                "back. Where .grad was undefined, make a tensor to unpack into"
              : why_not(mine[0] / first, mean_of_ranks, r, otherwise);
      exam.close(fmt::format("{}: rank {}'s gradient of p{}", when, r, p), expected,
                 mine, 1e-12, {likely, "The way back"});
    }
  }
}

LESSON_TEST(12, means, "afterwards each rank has every mean, whatever the order") {
  const std::vector<std::vector<size_t>> order{
      kBackwards, {3, 1, 5, 0, 2, 4}, {0, 1, 2, 3, 4, 5}};
  expect_means(exam, "after two steps", {order, order}, kBackwards, 2,
               "after the all-reduce a bucket holds what was packed into it, summed "
               "over ranks: pack each gradient divided by divisor_, the number of "
               "ranks, and copy each member's piece back");
}

LESSON_TEST(12, no_gradient, "a gradient that never arrives counts as zero") {
  const std::vector<size_t> some{4, 3, 2, 0};
  expect_means(
      exam, "ranks 1 and 2 have no gradient of p5 and p1 in step 1",
      {{kBackwards, kBackwards, kBackwards}, {kBackwards, some, some}}, {5, 1}, 1.0 / 3,
      "zeros must be packed: the bucket still holds the gradients of the step before");
  Noted* const calls = new Noted;
  ProcessGroup group{std::unique_ptr<Noted>(calls)};
  ByHand by_hand(group, {DeviceType::reference, 0});
  by_hand.step({3, 2, 0});
  calls->buckets.clear();
  by_hand.begin();
  runtime::context(by_hand.device).synchronize();
  exam.equal(
      "buckets launched by before_backward", size_t{0}, calls->buckets.size(),
      {"what was missing in the last step may arrive in this one", "The way back"});
}

LESSON_TEST(12, divisor, "gradients are divided by the current divisor") {
  std::vector<Numbers> got(3);
  on_ranks(3, "all launch the same buckets in the same order", kNeverComplete,
           [&](Rank& rank) {
             ByHand by_hand(*rank.group, rank.device);
             by_hand.step(kBackwards);
             by_hand.sync->set_divisor(2);
             by_hand.step(kBackwards);
             got[rank.rank] = by_hand.gradient(2);
           });
  exam.close("rank 0's gradient of p2 with divisor 2: (1 + 2 + 3) / 2 times its value",
             {3 * 21.0, 3 * 22.0}, got[0], 1e-12,
             {"divide by divisor_ when packing: it is the number of ranks only until "
              "set_divisor changes it, when a rank has run out of batches",
              "The way back"});
}

// --- the emulated clock, whose results depend on this table, not on this machine

constexpr double kFlopsPerNs = 5000, kBytesPerNs = 800;  ///< a device's kernels
constexpr double kKernelNs = 2000;                       ///< kernel launch
const tracer::EmulateOptions kLinks{.link = {.gb_per_s = 12, .latency_us = 10}};

/// Makes the host cost nothing: replaces every recorded time by its position among all
/// times. Kernels take the time given by the table.
tracer::Trace by_the_table(tracer::Trace trace) {
  std::set<int64_t> times;
  for (const auto& event : trace.events) times.insert({event.ts, event.end()});
  std::map<int64_t, int64_t> place;
  for (int64_t time : times) place.emplace(time, std::ssize(place));
  for (tracer::Event& event : trace.events) {
    const int64_t end = place[event.end()];
    event.ts = place[event.ts];
    event.dur = end - event.ts;
    if (!event.is("kernel")) continue;
    const double ns = kKernelNs +
                      static_cast<double>(number(event, "flops", 0)) / kFlopsPerNs +
                      static_cast<double>(number(event, "bytes", 0)) / kBytesPerNs;
    event.args["cpu_us"] = std::round(ns) / 1000;
  }
  return trace;
}

/// Returns the ns of step 1 in which a rank's gradients travel while its device
/// computes nothing, summed over all ranks.
int64_t exposed(const tracer::Trace& recorded) {
  const tracer::Trace trace = tracer::emulate(by_the_table(recorded), kLinks);
  std::set<std::pair<int64_t, int64_t>> gradients;  // (rank, seq)
  for (const tracer::Event* event : all_reduces(trace)) {
    gradients.emplace(number(*event, "rank"), number(*event, "seq"));
  }
  int64_t sum = 0;
  const tracer::Lanes lanes(trace);
  for (const tracer::Step& step : tracer::find_steps(trace)) {
    for (const auto& collective : tracer::collective_times(step, lanes)) {
      const bool counts = gradients.contains({collective.rank, collective.seq});
      sum += counts ? collective.exposed : 0;
    }
  }
  return sum;
}

LESSON_TEST(12, exposed_share, "little of the communication remains exposed") {
  const int64_t mine = exposed(learners_run(exam));
  const int64_t naive =
      exposed(exam.reference(std::string(kRun) + " --ddp-sync naive"));
  exam.at_most(
      "emulated: exposed communication, as a percentage of naive averaging's",
      int64_t{18}, 100 * mine / naive,
      {"the last bucket cannot overlap with anything: its gradient is the last one of "
       "backward. It is small when the first bucket is: 1 MiB, then `cap`",
       "What the trace shows"});
}

}  // namespace lockstep::lessons::lesson_12
