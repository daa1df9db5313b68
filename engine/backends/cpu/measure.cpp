#include "engine/backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "tracer/record/recorder.h"

namespace lockstep::cpu {
namespace {

/// Memory for one run of a plan.
class Arguments {
 public:
  Arguments(const PlanRequest& request, const Plan& plan) {
    for (const TensorSpec& spec : request.in) in_.push_back(view(spec));
    for (size_t i = 0; i < request.out.size(); ++i) {
      TensorSpec spec = request.out[i];
      if (i < plan.layouts.size()) spec.layout = plan.layouts[i];
      out_.push_back(view(spec));
    }
    for (const TensorSpec& spec : plan.extra) out_.push_back(view(spec));
    workspace_ = memory(plan.workspace);
  }
  KernelArgs args() { return {in_, out_, workspace_, {}}; }

 private:
  void* memory(size_t bytes) {
    constexpr size_t kLine = 64;
    blocks_.emplace_back(bytes + kLine);
    void* data = blocks_.back().data();
    size_t space = bytes + kLine;
    return std::align(kLine, bytes, data, space);
  }
  View view(const TensorSpec& spec) {
    View result{nullptr, spec.dtype, spec.sizes, spec.layout.get()};
    result.data = memory(result.bytes());
    return result;
  }

  std::vector<std::vector<char>> blocks_;
  std::vector<View> in_, out_;
  void* workspace_;
};

int64_t best_of_three(const PlanRequest& request, const Plan& plan) {
  Arguments arguments(request, plan);
  plan.run(arguments.args());  // warm up
  int64_t best = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const int64_t start = tracer::now_ns();
    plan.run(arguments.args());
    best = std::min(best, tracer::now_ns() - start);
  }
  return best;
}

}  // namespace

PlanPtr fastest(const PlanRequest& request, const std::vector<PlanPtr>& plans) {
  PlanPtr winner;
  int64_t best = INT64_MAX;
  std::string line = std::string("benchmark: ") + name(request.code) + " " +
                     request.in[0].sizes.str() + " " + request.in[1].sizes.str() + ":";
  for (const PlanPtr& plan : plans) {
    if (!plan) continue;
    const int64_t time = best_of_three(request, *plan);
    line += " " + plan->impl + " " + std::to_string(time / 1000) + " us,";
    if (time < best) best = time, winner = plan;
  }
  line.back() = ' ';
  std::fprintf(stderr, "%s-> %s\n", line.c_str(), winner->impl.c_str());
  return winner;
}

}  // namespace lockstep::cpu
