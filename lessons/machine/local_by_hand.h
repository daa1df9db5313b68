// Lesson 23's ranks, driven by its tests: what they do in a step, and what they
// average.
#pragma once

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/ops/copy.h"
#include "engine/optim/sgd.h"
#include "engine/runtime/device_context.h"
#include "engine/sharing/local_access.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/noted.h"

namespace lockstep::lessons {

/// Writes down what a rank does in a step.
class NotedStep : public sharing::LocalAccess {
 public:
  NotedStep(const sharing::LocalSgdOptions& options, int64_t step) {
    sharing::local_step().in_use()(*this, options, step);
  }
  void optimizer_step() override { note("step"); }
  void average() override {
    note("average");
    ++averages;
  }
  std::string text;
  int averages = 0;

 private:
  void note(const char* what) { text += (text.empty() ? "" : " ") + std::string(what); }
};

/// Returns what a rank does in one step: `step average`, or `nothing`.
inline std::string calls_of(const sharing::LocalSgdOptions& options, int64_t step) {
  const std::string text = NotedStep(options, step).text;
  return text.empty() ? "nothing" : text;
}

/// Returns what a rank does in each of the steps 0 to `steps` − 1.
inline std::vector<std::string> calls_in(const sharing::LocalSgdOptions& options,
                                         int64_t steps) {
  std::vector<std::string> all;
  for (int64_t step = 0; step < steps; ++step) {
    all.push_back(calls_of(options, step));
  }
  return all;
}

/// Returns the numbers of the steps with an average.
inline std::vector<int64_t> averaged(const std::vector<std::string>& calls) {
  std::vector<int64_t> all;
  for (size_t step = 0; step < calls.size(); ++step) {
    if (calls[step].find("average") != std::string::npos) {
      all.push_back(static_cast<int64_t>(step));
    }
  }
  return all;
}

/// Elements of the parameters, 1,000 bytes together.
inline const std::vector<int64_t> kElements{50, 1, 7, 64, 3};

/// What the ranks begin with: none of them has the mean of three or four ranks.
inline constexpr double kFactors[] = {2, 3, 7, 8};

/// One rank's tensors on its device. Element k of all parameters is kFactors[rank] · (k
/// + 1), of the momentum ten times that, and of the buffers a hundred times.
struct RankByHand : public sharing::LocalAccess {
  RankByHand(Device device, distributed::ProcessGroup& group, int rank)
      : device(device), group(group), rank(rank), flat(make_flat()) {}

  void optimizer_step() override { optimizer->step(); }
  void average() override { sharing::local_average().in_use()(state, flat, group); }

  /// Returns all elements of some tensors, one tensor after the other.
  static std::vector<double> all(const distributed::Parameters& tensors) {
    std::vector<double> joined;
    for (const auto& [name, tensor] : tensors) {
      const std::vector<double> part = values(tensor);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }
  /// Returns what these tensors were created with, on a rank.
  static std::vector<double> initial(double factor, int rank) {
    std::vector<double> numbers(125);
    for (size_t k = 0; k < numbers.size(); ++k) {
      numbers[k] = factor * kFactors[rank] * (static_cast<double>(k) + 1);
    }
    return numbers;
  }

  const Device device;
  distributed::ProcessGroup& group;
  const int rank;
  sharing::LocalState state;
  distributed::Bucket flat;
  std::unique_ptr<optim::Optimizer> optimizer;

 private:
  distributed::Parameters made(const char* prefix, double factor) const {
    const std::vector<double> numbers = initial(factor, rank);
    distributed::Parameters tensors;
    auto next = numbers.begin();
    for (const int64_t count : kElements) {
      const std::vector<double> part(next, next + count);
      next += count;
      const Tensor host = Tensor::from(part, {count}, DType::f64);
      tensors.push_back({fmt::format("{}{}", prefix, tensors.size()),
                         ops::copy_to(host, device, {"h2d", "test"})});
    }
    return tensors;
  }
  distributed::Bucket make_flat() {
    state = {made("p", 1), made("running_mean.p", 100), made("momentum_buffer.p", 10)};
    plan::Bucket members(state.parameters.size());
    std::iota(members.begin(), members.end(), 0);
    return {0, members, state.parameters};
  }
};

/// Returns the misconception that explains an element after an average of `ranks`
/// ranks. It was `own` on this rank, and the sum of all ranks is `sum`.
inline Because why_no_mean(double own, double sum, double got, int ranks) {
  const auto is = [&](double value) { return std::abs(got - value) < 1e-6 * sum; };
  if (got == 0) {
    return {
        "nothing was packed, or with a factor of 0: in C++, `1 / group.size()` of "
        "integers is 0; write `1.0 /`",
        "What is averaged"};
  }
  if (is(own)) {
    return {
        "this is the rank's own value: what was averaged must be copied back into "
        "the parameters",
        "One flat tensor"};
  }
  if (is(own / ranks)) {
    return {
        "this is the rank's own share of the mean: the sum was not there yet. Without "
        "`wait()` nothing makes the copies wait for it, and what is packed after the "
        "all-reduce is in no sum",
        "One flat tensor"};
  }
  if (is(sum)) {
    return {
        "this is the sum over the ranks, N times the mean: the factor 1 / N is "
        "missing, or the mean was reduced once more",
        "What is averaged"};
  }
  if (is(sum / ranks / ranks)) {
    return {"divided by N twice: once before the sum or once after it",
            "What is averaged"};
  }
  return {"each parameter becomes the mean of all ranks' parameters",
          "What is averaged"};
}

}  // namespace lockstep::lessons
