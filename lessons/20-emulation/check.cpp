#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "lessons/machine/emulated_job.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::lesson_20 {

constexpr const char *kLine = "A straight line, but not through zero",
                     *kHost = "What the host needs", *kPort = "One port for all copies",
                     *kOrder = "One after the other", *kOverlap = "What overlaps",
                     *kRing = "What a ring takes", *kWrong = "How wrong is it?";

double at(const Exam& exam, const Job& job, double Recorded::* phase, double batch) {
  return exam.function<double(const Job&, double Recorded::*, double)>(
      "lesson_time_at")(job, phase, batch);
}
double dp(const Exam& exam, const Job& job, const Machine& machine, double batch) {
  return exam.function<double(const Job&, const Machine&, double)>("lesson_predict_dp")(
      job, machine, batch);
}
double ddp(const Exam& exam, const Job& job, const Machine& machine, double batch) {
  return exam.function<double(const Job&, const Machine&, double)>(
      "lesson_predict_ddp")(job, machine, batch);
}

/// A job of round numbers: nothing overlaps by accident, and each part has a size that
/// no other part has.
Job round_job() {
  Job job;
  job.small = {10, 3000, 11, 7000, 130};
  job.large = {30, 5000, 13, 15000, 130};
  job.host_forward = 170;
  job.host_backward = 190;
  job.sample = 1000;
  job.parameters = 6'000'000;
  job.buffers = 600'000;
  job.messages = 3;
  job.buckets = {{1'200'000, 0.1}, {3'600'000, 0.5}, {1'200'000, 1}};
  return job;
}

LESSON_TEST(20, the_line, "times of batches that were not recorded") {
  std::mt19937_64 random(exam.seed());
  Job job = round_job();
  job.large.forward = 5050;
  for (int i = 0; i < 6; ++i) {
    const double batch = i == 0 ? 10 : i == 1 ? 30 : 1 + double(random() % 40);
    const double expected = 3000 + (batch - 10) * 102.5;
    const double got = at(exam, job, &Recorded::forward, batch);
    const bool through_zero = std::abs(got - 5050 * batch / 30) < 1e-6 ||
                              std::abs(got - 3000 * batch / 10) < 1e-6;
    const bool whole = std::abs(got - expected) > 1e-6 &&
                       std::abs(got - (3000 + (batch - 10) * 102)) < 1e-6;
    exam.close(
        fmt::format("forward of {} samples, recorded 3000 µs with 10 and 5050 µs "
                    "with 30 (seed {})",
                    batch, exam.seed()),
        {expected}, {got}, 1e-6,
        {through_zero ? "in proportion to the batch: but part of a kernel's time "
                        "does not depend on it, and half a batch takes more than "
                        "half the time"
         : whole      ? "the slope is 102.5 µs for each sample: in an int it is 102"
                      : "the line through the two recorded points",
         kLine});
    exam.close(fmt::format("optimizer with {} samples, 130 µs with both", batch), {130},
               {at(exam, job, &Recorded::optimizer, batch)}, 1e-6,
               {"each phase has a line of its own; the optimizer's is flat", kLine});
  }
}

/// How the learner's predictions of a base case and of a changed one have to differ.
struct Change {
  std::string what;
  Job job;
  Machine machine;
  double batch;
  double expected;
  Because because;
};

/// Returns what the times would be if launches were added to them.
double shorter_times(const Change& change) {
  const double own = change.batch / change.machine.devices;
  const auto shorter = [&](double Recorded::* phase, double host) {
    const double small = change.job.small.*phase, large = change.job.large.*phase;
    const double kernels = small + (large - small) * (own - 10) / 20;
    return std::min(kernels / change.machine.speed, host);
  };
  return shorter(&Recorded::forward, change.job.host_forward) +
         shorter(&Recorded::backward, change.job.host_backward);
}

/// Returns whether a step is `more` too long, which is what images take that do not
/// travel at the same time, or that travel to every device.
bool scatters_more(const Change& change, double more) {
  const Machine& machine = change.machine;
  const double others = machine.devices - 1;
  const double bytes = others * change.batch / machine.devices * change.job.sample /
                       (machine.gb_per_s * 1000);
  const double latency = others * machine.latency;
  const auto is = [more](double time) {
    return time > 0.1 && std::abs(more - time) < 1e-3;
  };
  return is(bytes) || is(latency) || is(bytes + latency);
}

Because why_not(const Change& change, bool with_scatter, double got) {
  const double more = got - change.expected;
  if (std::abs(more - shorter_times(change)) < 1e-6) {
    return {
        "the larger of both, not their sum: the host launches the next kernels while "
        "these run",
        kHost};
  }
  if (with_scatter && scatters_more(change, more)) {
    return {
        "each device gets its own images only, over its own link from the host, and "
        "all of them at the same time",
        kPort};
  }
  const double optimizer = change.job.small.optimizer / change.machine.speed;
  if (std::abs(more + optimizer) < 1e-6) {
    return {
        "the optimizer begins when all gradients are there, the last bucket's as well",
        kOverlap};
  }
  return change.because;
}

void expect(const Exam& exam, const Change& change, bool with_scatter, double got) {
  exam.close("step in µs, " + change.what, {change.expected}, {got},
             1e-6 * change.expected, why_not(change, with_scatter, got));
}

/// Forward waits for the host, and backward for its kernels.
Job slow_host_job() {
  Job job = round_job();
  job.host_forward = 5000;
  return job;
}

/// The recordings of the loss differ, and so do those of the optimizer.
Job uneven_job() {
  Job job = round_job();
  job.large.optimizer = 150;
  return job;
}

Because both_times() {
  return {
      "forward takes the larger of its own two times, and so does backward: neither "
      "can "
      "use what the other has left",
      kHost};
}

Because smalls() {
  return {"the loss and the optimizer take as long with any batch: small's", kLine};
}

constexpr double kFree = 1e12;  // GB/s: bytes take no time

LESSON_TEST(20, dp_phases, "DataParallel: seven phases, one after the other") {
  const Job job = round_job();
  const auto kernels = [](double speed) {  // with 10 samples on each device
    return (3000 + 7000 + 130) / speed + 11;
  };
  const std::vector<Change> changes{
      {"one device, links that cost nothing",
       job,
       {1, 1, 0, kFree},
       10,
       kernels(1),
       {"forward, loss, backward and optimizer", kOrder}},
      {"three devices, 30 samples, links that cost nothing",
       job,
       {3, 1, 0, kFree},
       30,
       kernels(1),
       {"each device has a third of the batch, and they work at the same time", kLine}},
      {"one device that is 4 times as fast",
       job,
       {1, 4, 0, kFree},
       10,
       kernels(4),
       {"kernels of forward, backward and optimizer are faster; the loss is left as it "
        "is",
        kHost}},
      {"one device that is 1,000 times as fast",
       job,
       {1, 1000, 0, kFree},
       10,
       170 + 11 + 190 + 0.13,
       {"the host launches each kernel. If that takes longer than the kernels do, it "
        "is "
        "what counts",
        kHost}},
      {"one device, 1 GB/s",
       job,
       {1, 1, 0, 1},
       10,
       kernels(1) + 10,
       {"the images are scattered also to a single device, and nothing else travels",
        kPort}},
      {"three devices, 1 GB/s",
       job,
       {3, 1, 0, 1},
       30,
       kernels(1) + 10 + 2 * 6600 + 2 * 6000,
       {"device 0 sends parameters and buffers to each of the others, one after the "
        "other, and receives their gradients through one port, after all of backward",
        kPort}},
      {"three devices, 100 µs latency",
       job,
       {3, 1, 100, kFree},
       30,
       kernels(1) + 100 + 2 * 300 + 2 * 300,
       {"each message has its latency: one for the images, and 3 for each of the other "
        "devices in replicate and in reduce",
        kPort}},
      {"one device, 5000 µs for the host's launches in forward",
       slow_host_job(),
       {1, 1, 0, kFree},
       10,
       5000 + 11 + 7000 + 130,
       both_times()},
      {"one device, 20 samples, 130 µs for the optimizer with 10 and 150 µs with 30",
       uneven_job(),
       {1, 1, 0, kFree},
       20,
       4000 + 11 + 11000 + 130,
       smalls()}};
  for (const Change& change : changes) {
    expect(exam, change, true, dp(exam, change.job, change.machine, change.batch));
  }
}

LESSON_TEST(20, ddp_overlap, "DDP: buckets travel while backward runs") {
  const Job job = round_job();
  const double begin = 3011, backward = 7000, end = 10011;
  Job last = job, early = job;
  last.buckets = {{6'000'000, 1}};
  early.buckets = {{3'000'000, 0.1}, {3'000'000, 0.2}};
  const std::vector<Change> changes{
      {"one rank",
       job,
       {1, 1, 0, 1},
       10,
       end + 130,
       {"a single rank has nobody to send to: no images either, they are there",
        kRing}},
      {"three ranks, links that cost nothing",
       job,
       {3, 1, 0, kFree},
       30,
       end + 130,
       {"forward, loss, backward and optimizer, each with a third of the batch",
        kLine}},
      {"one rank that is 1,000 times as fast",
       job,
       {1, 1000, 0, kFree},
       10,
       170 + 11 + 190 + 0.13,
       {"the host launches each kernel. If that takes longer than the kernels do, it "
        "is "
        "what counts",
        kHost}},
      {"three ranks, 1 GB/s, all gradients in one bucket",
       last,
       {3, 1, 0, 1},
       30,
       end + 8000 + 130,
       {"the bucket is full when backward is over. In a ring of N, 2 (N − 1) messages "
        "of "
        "1/N of it follow each other",
        kRing}},
      {"three ranks, 100 µs latency, all gradients in one bucket",
       last,
       {3, 1, 100, kFree},
       30,
       end + 400 + 130,
       {"each of the 2 (N − 1) messages of a ring has its latency", kRing}},
      {"three ranks, 2 GB/s, buckets that are full early",
       early,
       {3, 1, 0, 2},
       30,
       end + 130,
       {"these buckets have arrived before backward ends, and cost nothing", kOverlap}},
      {"three ranks, 0.5 GB/s, buckets that are full early",
       early,
       {3, 1, 0, 0.5},
       30,
       begin + 0.1 * backward + 16000 + 130,
       {"the second bucket waits until the first has arrived, and the optimizer for "
        "the "
        "last one",
        kOverlap}},
      {"three ranks, 2 GB/s",
       job,
       {3, 1, 0, 2},
       30,
       end + 800 + 130,
       {"the first two buckets arrive during backward; the last is full at its end",
        kOverlap}},
      {"three ranks that are 1,000 times as fast, 100 GB/s",
       last,
       {3, 1000, 0, 100},
       30,
       170 + 11 + 190 + 80 + 0.13,
       {"gradients become ready as the host launches kernels, too", kHost}},
      {"three ranks, 5000 µs for the host's launches in forward",
       slow_host_job(),
       {3, 1, 0, kFree},
       30,
       5000 + 11 + 7000 + 130,
       both_times()},
      {"one rank, 20 samples, 130 µs for the optimizer with 10 and 150 µs with 30",
       uneven_job(),
       {1, 1, 0, kFree},
       20,
       4000 + 11 + 11000 + 130,
       smalls()}};
  for (const Change& change : changes) {
    expect(exam, change, false, ddp(exam, change.job, change.machine, change.batch));
  }
}

// --- against the emulator

constexpr double kLimit = 6;  // per cent

struct Case {
  const char* mode;
  Machine machine;
  int64_t batch;
};

/// Returns the error of a prediction in per cent, relative to the emulated step.
double error_of(const Exam& exam, const RecordedJob& recorded, const Case& which) {
  const double emulated = recorded.emulated(which.mode, which.machine, which.batch);
  const bool is_ddp = which.mode == std::string("ddp");
  const double got = (is_ddp ? ddp : dp)(exam, recorded.job, which.machine,
                                         static_cast<double>(which.batch));
  return 100 * (got / emulated - 1);
}

LESSON_TEST(20, recorded_job, "ResNet18: your predictions and the emulated steps") {
  const RecordedJob recorded(exam.published_trace());
  const std::vector<Case> cases{
      {"dp", {2, 1, 10, 12}, 32},    {"ddp", {2, 1, 10, 12}, 32},
      {"dp", {4, 1, 10, 12}, 128},   {"ddp", {4, 1, 10, 12}, 128},
      {"dp", {4, 1, 10, 1}, 96},     {"ddp", {4, 1, 10, 0.1}, 96},
      {"dp", {4, 100, 10, 12}, 128}, {"ddp", {4, 20, 10, 1}, 64},
      {"dp", {8, 4, 10, 12}, 160},   {"ddp", {8, 4, 10, 12}, 160}};
  double worst = 0;
  std::string which = "none";
  for (const Case& one : cases) {
    const double error = std::abs(error_of(exam, recorded, one));
    if (!(error <= worst)) {
      worst = std::isfinite(error) ? error : std::numeric_limits<double>::max();
      which = fmt::format("{}, {} devices {} times as fast, {} GB/s, batch {}",
                          one.mode, one.machine.devices, one.machine.speed,
                          one.machine.gb_per_s, one.batch);
    }
  }
  exam.at_most(
      "largest error over ten emulated steps of ResNet18, in per cent (" + which + ")",
      kLimit, std::round(worst * 10) / 10,
      {"the rules on round numbers hold, and still this differs: a special case "
       "for those numbers?",
       kWrong});
}

}  // namespace lockstep::lessons::lesson_20
