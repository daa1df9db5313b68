// `--check-weights`: a run of which one rank changes its weights ends with an error
// that names them; one whose ranks agree does not.
#include <gtest/gtest.h>

#include "engine/ops/ops.h"
#include "run/train.h"
#include "tracer/analysis/check.h"

namespace lockstep::run {
namespace {

/// Reduces gradients as it should, but on one rank in one step changes one of them.
class FaultySync : public distributed::GradientSync {
 public:
  FaultySync(distributed::Parameters parameters, distributed::ProcessGroup& group,
             int64_t faulty_step)
      : parameters_(parameters),
        rank_(group.rank()),
        faulty_step_(faulty_step),
        whole_(distributed::make_naive_sync(std::move(parameters), group, {})) {}

  void gradient_ready(size_t parameter) override { whole_->gradient_ready(parameter); }
  void after_backward() override {
    whole_->after_backward();
    if (rank_ != 1 || step_++ != faulty_step_) return;
    const Tensor& changed = parameters_.back().value;
    changed.set_grad(ops::contiguous(ops::scale(changed.grad(), 3)));
  }
  void shadow_step() override { whole_->shadow_step(); }
  void set_divisor(int divisor) override { whole_->set_divisor(divisor); }

 private:
  const distributed::Parameters parameters_;
  const int rank_;
  const int64_t faulty_step_;
  int64_t step_ = 0;
  std::unique_ptr<distributed::GradientSync> whole_;
};

RunConfig three_ranks(int64_t check_weights) {
  RunConfig config;
  config.mode = train::Mode::ddp;
  config.model.arch = "toy";
  config.device.type = DeviceType::reference;
  config.device.count = 3;
  config.data.length = 24;
  config.recipe.batch_size = 6;
  config.recipe.epochs = 1;
  config.steps = 4;
  config.ddp.check_weights = check_weights;
  config.output.quiet = true;
  return config;
}

class CheckWeights : public testing::Test {
 protected:
  ~CheckWeights() override { distributed::gradient_sync_factory().unplug(); }

  static void break_step(int64_t step) {
    distributed::gradient_sync_factory().plug(
        [step](distributed::Parameters parameters, distributed::ProcessGroup& group,
               const distributed::ReducerOptions&) {
          return std::make_unique<FaultySync>(std::move(parameters), group, step);
        });
  }
  static std::string error_of(const RunConfig& config) {
    try {
      run_training(config);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(CheckWeights, NamesTheParameterAndTheRank) {
  break_step(1);
  const std::string error = error_of(three_ranks(2));
  EXPECT_NE(error.find("the weights of the ranks differ: fc.bias of rank "
                       "1 differs from that of rank 0"),
            std::string::npos)
      << error;
}

TEST_F(CheckWeights, ComparesOnlyAfterEveryNthStep) {
  break_step(3);  // the last step, which no check follows
  EXPECT_EQ(error_of(three_ranks(3)), "");
}

TEST_F(CheckWeights, KeepsTheLawsOfTraces) {
  RunConfig config = three_ranks(1);
  config.output.trace = testing::TempDir() + "/check_weights.json";
  config.output.trace_steps = "0:4";
  tracer::Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    EXPECT_TRUE(finding.ok || finding.law == "sources-present") << finding.message;
  }
}

}  // namespace
}  // namespace lockstep::run
