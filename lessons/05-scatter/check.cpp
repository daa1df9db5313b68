#include <numeric>
#include <random>

#include "engine/ops/copy.h"
#include "engine/parallel/primitives.h"
#include "engine/plan/chunk.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"

namespace lockstep::lessons::lesson_05 {

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

/// Throws Wrong unless the chunks of `batch` samples are on the first of `devices`.
void expect_chunks(const Exam& exam, int64_t batch, const parallel::Devices& devices,
                   const std::string& likely, DType dtype = DType::f64) {
  const std::vector<Tensor> chunks =
      parallel::primitives().scatter(counting({batch, 2}, 0, dtype), devices);
  exam.equal(fmt::format("number of chunks of {} samples over {} devices", batch,
                         devices.size()),
             plan::chunk_sizes(batch, std::ssize(devices)).size(), chunks.size(),
             {"there is a chunk for each of the sizes, and no other",
              "Ceil, and what is left"});
  double first = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const std::string what = fmt::format("chunk {}", i);
    exam.that(chunks[i].defined(), what, "a tensor", "an undefined one",
              {"an idle device gets no chunk, not an undefined one: the list has "
               "exactly one entry per chunk",
               "Ceil, and what is left"});
    exam.equal(what + ": device", devices[i].str(), chunks[i].device().str(),
               {likely, "A view is not a copy"});
    exam.equal(what + ": type", std::string(name(dtype)),
               std::string(name(chunks[i].dtype())),
               {"a chunk is part of the batch: its type and its shape, except for the "
                "number of samples, are those of the input",
                "A view is not a copy"});
    exam.equal(what + ": sizes of a sample", int64_t{2},
               chunks[i].dim() == 2 ? chunks[i].size(1) : 0,
               {"a chunk is part of the batch: its type and its shape, except for the "
                "number of samples, are those of the input",
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

LESSON_TEST(5, right_samples, "every sample arrives once, in order, on its device") {
  const char* const copied =
      "chunk i must be copied to device i; a view stays where it is";
  expect_chunks(exam, 10, reference_devices(4), copied);
  expect_chunks(exam, 5, reference_devices(1), copied);
  const DeviceType type = DeviceType::reference;
  expect_chunks(exam, 10, {{type, 3}, {type, 0}, {type, 2}, {type, 1}},
                "chunk i goes to devices[i], whatever that device's index: the list "
                "may have any order");
  expect_chunks(exam, 10, reference_devices(4), copied, DType::i64);
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
  expect_chunks(exam, 2, reference_devices(4),
                "the first devices get the chunks; if there are fewer chunks than "
                "devices, the last devices are idle");
  expect_sizes(exam, 16'777'217, 1, {16'777'217},
               "a float has 24 bits and cannot hold this number: divide integers as "
               "integers, (batch + devices - 1) / devices");
}

/// Throws Wrong unless each device's first kernel waits for its chunk.
void expect_awaited(const Exam& exam, const tracer::Trace& trace,
                    const Events& copies) {
  for (const tracer::Event* copy : copies) {
    const tracer::Event* user = nullptr;
    for (const tracer::Event* kernel : events_of(trace, "kernel")) {
      if (kernel->pid != copy->pid || kernel->id < copy->id) continue;
      if (!user || kernel->id < user->id) user = kernel;
    }
    if (!user) continue;
    exam.that(
        depends_on(trace, user->id, copy->id),
        fmt::format("the first kernel on device {} after its chunk was sent, `{}`",
                    number(*copy, "dst"), user->name),
        "it waits for the chunk", "it may begin before the chunk arrives",
        {"the compute stream must wait for the copy: ops::copy_to sees to that, a "
         "copy of your own does not",
         "A view is not a copy", copy->id});
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
  const Events waits = host_waits_in(trace, {"scatter"});
  exam.equal(
      "number of waits of the host for a device in scatter", size_t{0}, waits.size(),
      {"the host enqueues the copies and goes on, before a byte has arrived: the "
       "devices wait, in their streams",
       "A view is not a copy", last(waits)});
  exam.equal("copies in the scatter phase that leave a device, not the host", size_t{0},
             relayed.size(),
             {"every chunk goes straight from the host to its device: a chunk that "
              "goes through another device crosses two more ports",
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
  expect_awaited(exam, trace, copies);
}

LESSON_TEST(5, from_a_device, "a batch that is on a device is sent from there") {
  const Device first{DeviceType::reference, 0};
  const Tensor batch = ops::copy_to(counting({8, 2}), first, {"h2d", "images"});
  const tracer::Trace trace =
      recorded(4, [&] { parallel::primitives().scatter(batch, reference_devices(4)); });
  int64_t to_host = 0;
  const Events copies = events_of(trace, "copy");
  for (const tracer::Event* copy : copies) {
    if (text(*copy, "dst") == "host") ++to_host;
  }
  const std::string likely =
      "ops::copy_to sends a tensor from where it is, and returns it unchanged if it is "
      "on the target already: device 0's chunk does not travel, and no chunk passes "
      "through the host";
  exam.equal("copies to the host, of a batch on device 0", int64_t{0}, to_host,
             {likely, "A view is not a copy"});
  exam.equal("copies, of a batch on device 0 for 4 devices", size_t{3}, copies.size(),
             {likely, "A view is not a copy"});
}

}  // namespace lockstep::lessons::lesson_05
