// Pipelines whose ranks have models of their own and send each other messages: the same
// bits as the pipeline that one thread drives.
// sanitize: thread
#include "engine/sharing/stage_messages.h"
#include "engine/train/collect_stages.h"
#include "tests/engine/distributed/ranks.h"
#include "tests/engine/parallel/pipeline_nets.h"

namespace lockstep {
namespace {

using plan::pipeline_schedule;
using plan::PipelineOrder;
using plan::PipelineSchedule;
using test::PipelineNet;
using test::PipelineRun;
using test::Rank;
using test::Wire;

constexpr double kMostNorm = 0.5;  ///< less than the norms of the first steps

/// What a rank of a pipeline trains with.
struct RankOfPipeline {
  RankOfPipeline(const PipelineNet& net, const PipelineSchedule& schedule, Rank& rank)
      : net(net),
        model(net.model()),
        pipeline(std::make_shared<parallel::PipelineModel>(
            model, test::devices(rank.size),
            parallel::PipelineOptions{
                net.cuts, schedule, "test",
                std::make_shared<sharing::StageMessages>(rank.group, rank.device),
                net.image})),
        step(model, pipeline, test::kPipelineSgd,
             {.clip_grad_norm = kMostNorm,
              .sum_over_ranks = {rank.device, [group = rank.group](const Tensor& row) {
                                   group->all_reduce(row).wait();
                                 }}}) {}

  /// Returns the loss; 0 on ranks without the last stage.
  double train(int64_t rows) {
    const test::Batch all = net.batch(rows);
    const Tensor images = pipeline->has_input()
                              ? test::on(pipeline->input_device(), all.images)
                              : all.images;
    const Tensor labels = pipeline->has_output()
                              ? test::on(pipeline->output_device(), all.labels)
                              : all.labels;
    const Tensor loss = step.run(images, labels).loss;
    return loss.defined() ? ops::item(loss) : 0;
  }

  const PipelineNet& net;
  const nn::ModulePtr model;
  const std::shared_ptr<parallel::PipelineModel> pipeline;
  train::TrainStep step;
};

/// Three steps; the losses, and what rank 0 has after collecting all stages.
PipelineRun by_ranks(const PipelineNet& net, const PipelineSchedule& schedule,
                     int64_t rows, Wire wire) {
  ops::manual_seed(3);
  PipelineRun run;
  run.losses.resize(test::kPipelineSteps);
  const int size = static_cast<int>(schedule.size());
  test::on_ranks({.size = size, .wire = wire}, [&](Rank& rank) {
    RankOfPipeline mine(net, schedule, rank);
    for (int i = 0; i < test::kPipelineSteps; ++i) {
      const double loss = mine.train(rows);
      if (mine.pipeline->has_output()) run.losses[i] = loss;
    }
    train::collect_stages(*rank.group, rank.device, *mine.model, mine.step.optimizer());
    if (rank.rank > 0) return;
    for (const Tensor& tensor : mine.model->parameters()) {
      run.weights.push_back(test::values_of(tensor));
    }
    for (const Tensor& tensor : mine.model->buffers()) {
      run.buffers.push_back(test::values_of(tensor));
    }
    for (const auto& [name, tensor] : mine.step.optimizer().state()) {
      run.gradients.push_back(test::values_of(tensor));
    }
  });
  return run;
}

/// The same by one thread. In `gradients` is the optimizer's state.
PipelineRun by_one_thread(const PipelineNet& net, const PipelineSchedule& schedule,
                          int64_t rows) {
  ops::manual_seed(3);
  const nn::ModulePtr model = net.model();
  const auto pipeline = std::make_shared<parallel::PipelineModel>(
      model, test::devices(static_cast<int>(schedule.size())),
      parallel::PipelineOptions{net.cuts, schedule, "test"});
  train::TrainStep step(model, pipeline, test::kPipelineSgd,
                        {.clip_grad_norm = kMostNorm});
  PipelineRun run;
  for (int i = 0; i < test::kPipelineSteps; ++i) {
    run.losses.push_back(test::pipeline_step(step, *pipeline, net.batch(rows)));
  }
  for (const Tensor& tensor : model->parameters()) {
    run.weights.push_back(test::values_of(tensor));
  }
  for (const Tensor& tensor : model->buffers()) {
    run.buffers.push_back(test::values_of(tensor));
  }
  for (const auto& [name, tensor] : step.optimizer().state()) {
    run.gradients.push_back(test::values_of(tensor));
  }
  return run;
}

struct SchedulesOfRanks {
  const char* name;
  PipelineOrder order;
  int ranks, micro_batches, stages_per_rank;
  Wire wire;
};

class ParallelPipelineRanks : public testing::TestWithParam<SchedulesOfRanks> {};

TEST_P(ParallelPipelineRanks, TrainAsOneThreadDoes) {
  const auto& [name, order, ranks, micro_batches, virtual_stages, wire] = GetParam();
  const auto schedule = pipeline_schedule(order, ranks, micro_batches, virtual_stages);
  for (const PipelineNet* net : {&test::kPipelineInPlace, &test::kPipelineResNet}) {
    const PipelineRun one = by_one_thread(*net, schedule, 12);
    EXPECT_GT(one.losses[0], one.losses[2]) << "it learns";
    EXPECT_EQ(by_ranks(*net, schedule, 12, wire), one) << net->name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, ParallelPipelineRanks,
    testing::Values(
        SchedulesOfRanks{"naive", PipelineOrder::gpipe, 4, 1, 1, Wire::local},
        SchedulesOfRanks{"gpipe", PipelineOrder::gpipe, 4, 4, 1, Wire::tcp},
        SchedulesOfRanks{"one_f_one_b", PipelineOrder::one_f_one_b, 4, 6, 1, Wire::tcp},
        SchedulesOfRanks{"eager", PipelineOrder::eager_one_f_one_b, 4, 6, 1,
                         Wire::local},
        SchedulesOfRanks{"interleaved", PipelineOrder::interleaved, 2, 4, 2,
                         Wire::tcp}),
    [](const auto& info) { return std::string(info.param.name); });

/// The last micro-batch is smaller, or some are missing: receivers know it in advance.
TEST(ParallelPipelineRank, SmallBatchesAreReceivedWhole) {
  const auto schedule = pipeline_schedule(PipelineOrder::one_f_one_b, 4, 4);
  for (const int64_t rows : {10, 3}) {
    EXPECT_EQ(by_ranks(test::kPipelineToy, schedule, rows, Wire::local),
              by_one_thread(test::kPipelineToy, schedule, rows))
        << rows;
  }
}

/// Dropout draws from the stream of its rank's device.
TEST(ParallelPipelineRank, DropsOutWhatOneThreadDropsOut) {
  const auto schedule = pipeline_schedule(PipelineOrder::one_f_one_b, 2, 4);
  EXPECT_EQ(by_ranks(test::kPipelineDropout, schedule, 8, Wire::local),
            by_one_thread(test::kPipelineDropout, schedule, 8));
}

TEST(ParallelPipelineRank, EvaluationPassesTheWholeBatchOn) {
  const auto schedule = pipeline_schedule(PipelineOrder::interleaved, 2, 4, 2);
  const PipelineNet& net = test::kPipelineResNet;
  const auto output = [&](parallel::PipelineModel& pipeline) {
    pipeline.eval();
    Tensor images = net.batch(5).images;
    if (pipeline.has_input()) images = test::on(pipeline.input_device(), images);
    const Tensor out = pipeline(images);
    return out.defined() ? test::values_of(out) : std::vector<double>();
  };
  parallel::PipelineModel one(net.model(), test::devices(2),
                              {net.cuts, schedule, "test"});
  std::vector<std::vector<double>> of_rank(2);
  test::on_ranks({.size = 2}, [&](Rank& rank) {
    RankOfPipeline mine(net, schedule, rank);
    of_rank[rank.rank] = output(*mine.pipeline);
  });
  EXPECT_TRUE(of_rank[0].empty());
  EXPECT_EQ(of_rank[1], output(one));
}

/// A rank that fails is named by those that wait for its messages.
TEST(ParallelPipelineRank, AMissingRankIsNamed) {
  const auto schedule = pipeline_schedule(PipelineOrder::gpipe, 2, 2);
  const auto messages = test::messages_of_ranks(
      {.size = 2, .wire = Wire::tcp, .timeout = Milliseconds(100)}, [&](Rank& rank) {
        RankOfPipeline mine(test::kPipelineDropout, schedule, rank);
        if (rank.rank == 1) return;
        mine.train(4);
        runtime::context(rank.device).synchronize();
      });
  EXPECT_NE(messages[0].find("rank 1"), std::string::npos) << messages[0];
}

TEST(ParallelPipelineRank, TheGroupHasAsManyRanksAsTheSchedule) {
  const auto schedule = pipeline_schedule(PipelineOrder::gpipe, 2, 2);
  const auto messages = test::messages_of_ranks({.size = 3}, [&](Rank& rank) {
    RankOfPipeline(test::kPipelineDropout, schedule, rank);
  });
  EXPECT_NE(messages[0].find("the schedule has 2 ranks"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
