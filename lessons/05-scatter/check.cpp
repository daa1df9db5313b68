#include <numeric>
#include <random>

#include "engine/parallel/primitives.h"
#include "engine/plan/chunk.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons {
namespace {

parallel::Devices reference_devices(int count) {
  parallel::Devices devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceType::reference, i});
  return devices;
}

std::vector<Tensor> scatter(int64_t batch, int devices) {
  return parallel::primitives().scatter(counting({batch, 2}),
                                        reference_devices(devices));
}

/// Returns the result of the learner's `chunk_sizes`.
std::vector<int64_t> learners_sizes(const Exam& exam, int64_t batch, int64_t devices) {
  using Function = void(int64_t, int64_t, std::vector<int64_t>&);
  std::vector<int64_t> sizes;
  exam.function<Function>("lesson_chunk_sizes")(batch, devices, sizes);
  return sizes;
}

void expect_sizes(const Exam& exam, int64_t batch, int devices,
                  const std::vector<int64_t>& expected, const std::string& likely) {
  exam.equal(fmt::format("chunk sizes of {} samples over {} devices", batch, devices),
             expected, learners_sizes(exam, batch, devices),
             {likely, "Ceil, and what is left"});
}

LESSON_TEST(5, even_split, "8 samples over 4 devices make 4 chunks of 2") {
  expect_sizes(exam, 8, 4, {2, 2, 2, 2},
               "8 / 4 is 2 and nothing is left over: four chunks of 2. Adding one to "
               "the quotient is not rounding up");
}

LESSON_TEST(5, ten_over_four, "10 samples over 4 devices are cut into 3, 3, 3, 1") {
  expect_sizes(exam, 10, 4, {3, 3, 3, 1},
               "chunks are not balanced: torch.chunk takes ceil(10 / 4) = 3 each time, "
               "and the last device gets the rest");
}

LESSON_TEST(5, nine_over_four, "9 samples over 4 devices make 3 chunks") {
  expect_sizes(exam, 9, 4, {3, 3, 3},
               "three chunks of ceil(9 / 4) = 3 hold all samples: the fourth device "
               "gets no chunk, not an empty chunk");
  expect_sizes(exam, 3, 4, {1, 1, 1},
               "3 samples make 3 chunks, one for each of the first three devices: the "
               "rule has no exception for small batches");
}

LESSON_TEST(5, right_samples, "every sample arrives once, in order, on its device") {
  const std::vector<Tensor> chunks = scatter(10, 4);
  exam.equal("number of chunks of 10 samples over 4 devices", size_t{4}, chunks.size(),
             {"there is a chunk for each of the sizes 3, 3, 3 and 1",
              "Ceil, and what is left"});
  double first = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const std::string what = fmt::format("chunk {}", i);
    exam.equal(what + ": device",
               Device{DeviceType::reference, static_cast<int>(i)}.str(),
               chunks[i].device().str(),
               {"chunk i must be copied to device i; a view stays where it is",
                "A view is not a copy"});
    std::vector<double> expected(chunks[i].numel());
    std::iota(expected.begin(), expected.end(), first);
    first += static_cast<double>(expected.size());
    exam.close(what + ": its samples", expected, values(chunks[i]), 0,
               {"the chunk begins at the wrong sample: each chunk starts where the "
                "previous one ends",
                "Ceil, and what is left"});
  }
}

/// Returns the sizes of the chunks that the learner's `scatter` makes.
std::vector<int64_t> sizes_of(const std::vector<Tensor>& chunks) {
  std::vector<int64_t> sizes;
  for (const Tensor& chunk : chunks) sizes.push_back(chunk.size(0));
  return sizes;
}

LESSON_TEST(5, any_size, "the same holds for any number of samples and devices") {
  std::mt19937_64 random(exam.seed());
  for (int draw = 0; draw < 40; ++draw) {
    const auto devices = static_cast<int>(1 + random() % 8);
    const auto batch = static_cast<int64_t>(1 + random() % 100);
    const std::vector<int64_t> expected = plan::chunk_sizes(batch, devices);
    const std::string drawn = fmt::format(
        "{} samples over {} devices (drawn with seed {})", batch, devices, exam.seed());
    const Because because{
        "a table of known cases is never complete: compute the sizes from `batch` and "
        "`devices`",
        "Ceil, and what is left"};
    exam.equal("chunk sizes of " + drawn, expected,
               learners_sizes(exam, batch, devices), because);
    exam.equal("sizes of the chunks that scatter makes of " + drawn, expected,
               sizes_of(scatter(batch, devices)), because);
  }
}

LESSON_TEST(5, bytes_once, "each byte of the batch leaves the host once") {
  const tracer::Trace& trace = exam.train(
      "-a resnet18 --dataset generated --device-type null --devices 4 -b 10 "
      "--steps 1",
      {"the engine's own DataParallel trains with your scatter; its output is printed "
       "below",
       "What the trace shows"});
  const int64_t batch = 10 * 3 * 32 * 32 * 4;
  Events copies, relayed;  // of the phase, whatever their labels
  for (const tracer::Event* event : in_phase(trace, "scatter")) {
    if (!event->is("copy")) continue;
    copies.push_back(event);
    if (text(*event, "src") != "host") relayed.push_back(event);
  }
  const auto last = [](const Events& of) { return of.empty() ? -1 : of.back()->id; };
  exam.equal("copies in the scatter phase that leave a device, not the host", size_t{0},
             relayed.size(),
             {"every chunk goes straight from the host to its device: what goes over "
              "another device, or from device to device, passes two ports",
              "A view is not a copy", last(relayed)});
  exam.at_most("bytes that leave the host in scatter", batch, bytes_of(copies),
               {"the whole batch travels to every device and is cut there, or a chunk "
                "travels twice: cut first, then send each chunk once",
                "A view is not a copy", last(copies)});
  exam.equal("copies in the scatter phase", size_t{4}, copies.size(),
             {"one copy for each chunk: the samples of a chunk are contiguous in "
              "memory, so it travels as one message",
              "A view is not a copy", last(copies)});
  exam.equal("copies in the scatter phase labelled {\"scatter\", \"images\"}",
             size_t{4}, copies_because(trace, "scatter").size(),
             {"the label tells the trace what a copy is for", "A view is not a copy",
              last(copies)});
}

}  // namespace
}  // namespace lockstep::lessons
