// Batches in chunks whose losses are known, and what wrong means of them are:
// lesson 25.
#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/nn/module.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/plan/chunk.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::lesson_25 {

using Numbers = std::vector<double>;
using Sizes = std::vector<int64_t>;
using Criteria = std::vector<nn::ModulePtr>;

inline constexpr const char *kSum = "A sum that can go back",
                            *kMean = "A mean of means", *kWhole = "A mean over all",
                            *kOne = "One device, one chunk", *kBytes = "What travels";
constexpr double kRounding = 1e-9;

inline Device reference(int index) { return {DeviceType::reference, index}; }

inline Tensor on(Device device, const Tensor& host) {
  return ops::copy_to(host, device, {"h2d", "numbers"});
}

inline Numbers random_numbers(std::mt19937_64& random, size_t count) {
  Numbers numbers;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(0.1 + static_cast<double>(random() % 1000) / 250);
  }
  return numbers;
}

/// The mean cross entropy of a chunk, and which images it was asked for.
class Criterion : public nn::Module {
 public:
  explicit Criterion(Tensor target) : target_(std::move(target)) {}
  Tensor forward(const Tensor& output) override {
    images_ += output.size(0);
    thread_ = std::this_thread::get_id();
    return ops::cross_entropy(output, target_);
  }
  const char* type_name() const override { return "CrossEntropyLoss"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<Criterion>(target_);
  }
  int64_t images() const { return images_; }
  std::thread::id thread() const { return thread_; }  ///< of the last call

 private:
  const Tensor target_;
  int64_t images_ = 0;
  std::thread::id thread_;
};

/// A batch in chunks, chunk i on device i.
struct Chunks {
  Sizes sizes;
  Tensors outputs;  ///< leaves that require a gradient
  Criteria criteria;
  std::vector<Numbers> derivatives;  ///< by chunk: of each image's own loss
  Numbers own;                       ///< each image's own loss

  Chunks(std::mt19937_64& random, Sizes chunk_sizes, int64_t classes = 3,
         DType dtype = DType::f64);

  int64_t batch() const { return std::accumulate(sizes.begin(), sizes.end(), 0L); }
  /// Returns the sum of all images' own losses, with a factor for each chunk.
  double weighted(const Numbers& factors) const {
    double sum = 0;
    for (size_t i = 0, image = 0; i < sizes.size(); ++i) {
      for (int64_t row = 0; row < sizes[i]; ++row) sum += factors[i] * own[image++];
    }
    return sum;
  }
};

inline Chunks::Chunks(std::mt19937_64& random, Sizes chunk_sizes, int64_t classes,
                      DType dtype)
    : sizes(std::move(chunk_sizes)) {
  for (const int64_t rows : sizes) {
    Numbers logits = random_numbers(random, rows * classes), labels;
    Numbers& derivative = derivatives.emplace_back();
    for (int64_t row = 0; row < rows; ++row) {
      const auto label = static_cast<int64_t>(random() % classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        sum += std::exp(logits[row * classes + c]);
      }
      for (int64_t c = 0; c < classes; ++c) {
        derivative.push_back(std::exp(logits[row * classes + c]) / sum -
                             (c == label ? 1 : 0));
      }
      own.push_back(std::log(sum) - logits[row * classes + label]);
      labels.push_back(static_cast<double>(label));
    }
    const Device device = reference(static_cast<int>(outputs.size()));
    outputs.push_back(on(device, Tensor::from(logits, {rows, classes}, dtype)));
    outputs.back().set_requires_grad(true);
    criteria.push_back(std::make_shared<Criterion>(
        on(device, Tensor::from(labels, {rows}, DType::i64))));
  }
}

/// The chapter's chunks, others, and some that nobody knows beforehand.
inline std::vector<Sizes> chunk_sizes(const Exam& exam) {
  std::vector<Sizes> all{{3, 3, 3, 1}, {2, 2, 1}, {3, 3, 3}, {4}};
  std::mt19937_64 random(exam.seed());
  for (int i = 0; i < 3; ++i) {
    const auto batch = static_cast<int64_t>(2 + random() % 12);
    all.push_back(plan::chunk_sizes(batch, 2 + random() % 4));
  }
  return all;
}

inline std::string named(const Exam& exam, const Sizes& sizes) {
  return fmt::format("chunks of {} (seed {})", fmt::join(sizes, ", "), exam.seed());
}

/// Throws Wrong unless each output has a gradient, and each criterion had a thread.
inline void expect_balanced(const Exam& exam, const Chunks& chunks,
                            const std::string& what) {
  for (size_t i = 0; i < chunks.outputs.size(); ++i) {
    exam.that(chunks.outputs[i].grad().defined(),
              fmt::format("gradient of output {} in {}", i, what), "some", "none",
              {fmt::format("output {} has no gradient: copies are not on the tape; add "
                           "with `reduce`",
                           i),
               kSum});
  }
  if (chunks.criteria.size() == 1) return;  // it needs no other thread
  for (size_t i = 0; i < chunks.criteria.size(); ++i) {
    const auto& each = dynamic_cast<const Criterion&>(*chunks.criteria[i]);
    exam.that(each.thread() != std::this_thread::get_id(),
              fmt::format("the host thread that calls criterion {} in {}", i, what),
              "one of its own", "the caller's",
              {"in a loop each device waits until the host has launched the losses of "
               "those before it: parallel_apply has a thread for each",
               kBytes});
  }
}

inline Because why_not_the_mean(const Chunks& chunks, double got) {
  const auto count = static_cast<double>(chunks.sizes.size());
  const auto batch = static_cast<double>(chunks.batch());
  Numbers mean;
  for (const int64_t size : chunks.sizes) mean.push_back(1 / double(size));
  const double sum = chunks.weighted(mean);
  const auto near = [got](double other) { return std::abs(got - other) < 1e-6; };
  if (near(sum) && count > 1) {
    return {
        "this is the sum of the chunks' losses. Each is a mean already, so their "
        "sum is as many times too large as there are chunks",
        kMean};
  }
  if (near(chunks.weighted(Numbers(chunks.sizes.size(), 1 / batch)))) {
    return {
        "this is DataParallel's loss, the mean over all images: `whole_mean`. In "
        "DataParallelCriterion each chunk counts as much as any other",
        kMean};
  }
  if (near(sum / batch)) {
    return {
        "divided by the number of images, which the chunks' means have been "
        "already",
        kMean};
  }
  if (std::abs(got) < 1e-12) {
    return {"a loss of 0: in C++, 1 / 3 of integers is 0", kMean};
  }
  return {
      "the sum of the chunks' losses, divided by the number of chunks: outputs, not "
      "devices",
      kMean};
}

inline Because why_not_weight(int64_t batch, int64_t devices, int64_t image,
                              double got) {
  const Sizes sizes = plan::chunk_sizes(batch, devices);
  const auto near = [got](double other) { return std::abs(got - other) < kRounding; };
  const auto count = static_cast<int64_t>(sizes.size());
  const int64_t chunk = image / sizes[0];
  if (got == 0) return {"a weight of 0: in C++, 1 / 12 of integers is 0", kMean};
  if (near(1.0 / double(devices * sizes[chunk]))) {
    return {
        "divided by the number of devices: the loss is divided by the number of "
        "chunks, and an idle device has none",
        kMean};
  }
  if (near(1.0 / double(count * sizes[0]))) {
    return {
        "as if all chunks were as large as the first: an image of a smaller chunk "
        "shares its quarter with fewer others",
        kMean};
  }
  if (near(1.0 / double(batch))) {
    return {
        "1 / batch is its weight in a mean over all images. Here the chunks count "
        "the same, and not the images",
        kMean};
  }
  return {
      "one over the number of chunks, shared by the images of its own chunk: "
      "consecutive ones, ceil(batch / devices) in all chunks but the last",
      kMean};
}

inline Because why_not_whole(const Chunks& chunks, double got) {
  const auto count = static_cast<double>(chunks.sizes.size());
  const auto batch = static_cast<double>(chunks.batch());
  const Numbers equal(chunks.sizes.size(), 1 / batch);
  Numbers means;
  for (const int64_t size : chunks.sizes) means.push_back(1 / double(size) / count);
  const auto near = [got](double other) { return std::abs(got - other) < 1e-6; };
  if (near(chunks.weighted(means))) {
    return {
        "this is the mean of the chunks' means, in which the images of a small "
        "chunk count more",
        kWhole};
  }
  if (near(chunks.weighted(equal) / count)) {
    return {
        "the shares add up to the mean already: divided by the number of chunks "
        "once too often",
        kWhole};
  }
  if (near(chunks.weighted(equal) * batch)) {
    return {"this is the sum over all images: it has to be divided by their number",
            kWhole};
  }
  if (std::abs(got) < 1e-12) {
    return {"a loss of 0: in C++, 3 / 10 of integers is 0", kWhole};
  }
  return {"each chunk's mean counts in proportion to its own number of images", kWhole};
}

}  // namespace lockstep::lessons::lesson_25
