// Pipelines whose gradients have the wrong scale: each known mistake, made on purpose,
// must be rejected by the row `1f1b M=4`, `single` of the equality matrix.
#include <gtest/gtest-spi.h>

#include "engine/ops/ops.h"
#include "engine/train/pipeline_loss.h"
#include "tests/engine/sharing/equality.h"
#include "tests/engine/sharing/pipeline_ways.h"

namespace lockstep {
namespace {

using test::Batch;
using test::Outcome;
using test::Problem;

/// Where each was seen: book/engine/equality.md.
enum class Mistake {
  none,
  not_divided,
  divided_per_stage,
  divided_per_accumulation,
  cleared_between,
  weighted_equally,  ///< micro-batches of different size
};

constexpr int kStages = 4;
constexpr int64_t kMicroBatches = 4;

/// Trains the stages of a pipeline, micro-batch by micro-batch, with one mistake.
class MistakenPipeline {
 public:
  MistakenPipeline(const Problem& problem, Mistake mistake)
      : mistake_(mistake),
        model_(problem.model(kHost)),
        pipeline_(model_, test::devices(kStages),
                  parallel::PipelineOptions{
                      problem.cuts,
                      plan::pipeline_schedule(plan::PipelineOrder::gpipe, kStages, 1),
                      "test"}),
        optimizer_(
            optim::make_optimizer(model_->named_parameters(), problem.optimizer)) {}

  /// Returns the mean loss over the rows of the batch, which is right in any case.
  double step(const Batch& batch) {
    optimizer_->zero_grad();
    const int64_t rows = batch.images.size(0);
    double loss = 0;
    int64_t first = 0;
    for (const int64_t own : plan::chunk_sizes(rows, kMicroBatches)) {
      if (mistake_ == Mistake::cleared_between) optimizer_->zero_grad();
      loss += run(batch.rows(first, own), rows);
      if (mistake_ == Mistake::divided_per_accumulation) {
        scale_gradients([](int) { return 1.0 / kMicroBatches; });
      }
      first += own;
    }
    if (mistake_ == Mistake::divided_per_stage) {  // what a stage sends back, again
      scale_gradients(
          [](int stage) { return std::pow(kMicroBatches, stage - (kStages - 1)); });
    }
    return loss;
  }
  void update() { optimizer_->step(); }
  const nn::Module& model() const { return *model_; }

 private:
  double run(const Batch& micro_batch, int64_t rows) {
    const int64_t own = micro_batch.images.size(0);
    const Device last = pipeline_.output_device();
    double loss = 0;
    pipeline_.run(test::on(pipeline_.input_device(), micro_batch.images),
                  [&](const Tensor& output, int64_t) {
                    const Tensor mean =
                        ops::cross_entropy(output, test::on(last, micro_batch.labels));
                    loss = ops::item(mean) * train::loss_weight(own, rows, 1);
                    return ops::scale(mean, factor(own, rows));
                  });
    return loss;
  }
  double factor(int64_t own, int64_t rows) const {
    const bool later = mistake_ == Mistake::not_divided ||
                       mistake_ == Mistake::divided_per_accumulation;
    if (later) return 1;
    return mistake_ == Mistake::weighted_equally ? 1.0 / kMicroBatches
                                                 : train::loss_weight(own, rows, 1);
  }
  /// `by(stage)` is the factor of the gradients of a stage's parameters.
  template <typename By>
  void scale_gradients(By by) {
    for (const Tensor& parameter : model_->parameters()) {
      const double factor = by(static_cast<int>(parameter.device().index));
      parameter.set_grad(ops::scale(parameter.grad(), factor));
    }
  }

  const Mistake mistake_;
  const nn::ModulePtr model_;
  parallel::PipelineModel pipeline_;
  const std::unique_ptr<optim::Optimizer> optimizer_;
};

test::Way mistaken(Mistake mistake) {
  return [mistake](const Problem& problem) {
    ops::manual_seed(1);
    MistakenPipeline pipeline(problem, mistake);
    Outcome outcome;
    for (size_t i = 0; i < problem.rows.size(); ++i) {
      outcome.losses.push_back(pipeline.step(problem.batch(i)));
      outcome.gradients.push_back(test::gradients_on_host(pipeline.model()));
      pipeline.update();
    }
    outcome.weights = test::on_host(pipeline.model().parameters());
    return outcome;
  };
}

Problem toy_of(std::vector<int64_t> rows) {
  return {test::make_pipeline_toy, {5}, 3, std::move(rows), {"2", "4", "6"}};
}

/// The gate, on batches of 12 and 11 rows: micro-batches of 3, and of 3, 3, 3, 2.
void judge_mistake(Mistake mistake) {
  const std::vector<test::Column> columns{{"toy u", test::kUneven, toy_of({12, 11})}};
  test::table(columns, {{"mutant", "single", mistaken(mistake), test::by_one_device,
                         test::kBatchNorm | test::kDropout, ""}});
}

TEST(ScaleMutants, WithoutAMistakeTheGateIsOpen) { judge_mistake(Mistake::none); }

TEST(ScaleMutants, EachMistakeIsRejected) {
  static Mistake mistake;  // the macro below cannot use local variables
  for (const Mistake each : {Mistake::not_divided, Mistake::divided_per_stage,
                             Mistake::divided_per_accumulation,
                             Mistake::cleared_between, Mistake::weighted_equally}) {
    mistake = each;
    EXPECT_NONFATAL_FAILURE(judge_mistake(mistake),
                            "mutant and single on toy u differ by");
  }
}

double gradients_apart(const Outcome& a, const Outcome& b) {
  return test::largest_distance(a.gradients[0], b.gradients[0]);
}

TEST(ScaleMutants, NoLossOfTheFirstStepTells) {
  const Problem problem = toy_of({11});
  const Outcome right = test::by_one_device(problem);
  for (const Mistake mistake : {Mistake::not_divided, Mistake::divided_per_stage,
                                Mistake::divided_per_accumulation,
                                Mistake::cleared_between, Mistake::weighted_equally}) {
    const Outcome wrong = mistaken(mistake)(problem);
    EXPECT_NEAR(wrong.losses[0], right.losses[0], 1e-12);
    EXPECT_GT(gradients_apart(wrong, right), 1e-4) << "but the gradients do";
  }
}

TEST(ScaleMutants, WeightingEquallyIsWrongForUnevenBatchesOnly) {
  const auto wrong = mistaken(Mistake::weighted_equally),
             right = mistaken(Mistake::none);
  EXPECT_LT(gradients_apart(wrong(toy_of({12})), right(toy_of({12}))), 1e-15);
  EXPECT_GT(gradients_apart(wrong(toy_of({11})), right(toy_of({11}))), 1e-4);
}

// Adam divides the gradient by its size, so that a wrong size shows in no weight.
TEST(ScaleMutants, UnderAdamOnlyGradientsTell) {
  Problem problem = toy_of({12});
  problem.optimizer = optim::AdamOptions{};
  const Outcome wrong = mistaken(Mistake::not_divided)(problem);
  const Outcome right = test::by_one_device(problem);
  EXPECT_LT(test::largest_distance(wrong.weights, right.weights), 1e-6);
  for (size_t i = 0; i < right.gradients[0].size(); ++i) {
    Tensor larger = right.gradients[0][i];
    test::add_to(larger, larger.detach(), kMicroBatches - 1);
    EXPECT_LT(test::distance(wrong.gradients[0][i], larger), 1e-12);
  }
}

}  // namespace
}  // namespace lockstep
