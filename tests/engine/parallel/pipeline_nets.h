// Trains a net in a pipeline, and the same net with gradient accumulation, and compares
// the bits.
#pragma once

#include "engine/models/resnet.h"
#include "engine/parallel/pipeline_model.h"
#include "engine/plan/chunk.h"
#include "engine/train/train_step.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep::test {

/// Four linear layers 0, 2, 4, 6 with ReLUs between them, for N×5 inputs.
inline nn::ModulePtr make_pipeline_toy() {
  std::vector<nn::ModulePtr> layers;
  for (const auto& [in, out] : {std::pair{5, 7}, {7, 6}, {6, 8}, {8, 3}}) {
    if (in != 5) layers.push_back(std::make_shared<nn::ReLU>());
    layers.push_back(std::make_shared<nn::Linear>(in, out));
  }
  return std::make_shared<nn::Sequential>(std::move(layers));
}

/// Convolutions, batch norms, both kinds of shortcut: a ResNet of two blocks.
inline nn::ModulePtr make_pipeline_resnet() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<models::BasicBlock>(2, 2, 1),
      std::make_shared<models::BasicBlock>(2, 4, 2),
      std::make_shared<nn::AdaptiveAvgPool2d>(1), std::make_shared<Flatten>(),
      std::make_shared<nn::Linear>(4, 3)});
}

/// As in VGG, all dropout is in the classifier: the last two layers.
inline nn::ModulePtr make_pipeline_dropout() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(5, 9), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Linear>(9, 8), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Dropout>(0.5), std::make_shared<nn::Linear>(8, 3)});
}

struct PipelineNet {
  nn::ModulePtr (*make)();
  std::vector<std::string> cuts;  ///< four stages
  std::vector<int64_t> image;
  const char* name;

  nn::ModulePtr model() const {
    const nn::ModulePtr made = in_double(make);
    fill_golden(*made, DType::f64);
    return made;
  }
  Batch batch(int64_t rows) const { return Batch::golden(rows, image, 3); }
};

inline const PipelineNet kPipelineToy{make_pipeline_toy, {"2", "4", "6"}, {5}, "toy"};
/// Every stage but the first begins with a ReLU, which works in place.
inline const PipelineNet kPipelineInPlace{
    make_pipeline_toy, {"1", "3", "5"}, {5}, "in_place"};
inline const PipelineNet kPipelineResNet{
    make_pipeline_resnet, {"1", "2", "4"}, {2, 8, 8}, "small_resnet"};
inline const PipelineNet kPipelineDropout{make_pipeline_dropout, {"2"}, {5}, "dropout"};

/// What training leaves: all values as doubles, so that equality means equal bits.
struct PipelineRun {
  std::vector<double> losses;
  std::vector<std::vector<double>> gradients, weights, buffers;
  bool operator==(const PipelineRun&) const = default;
};

inline constexpr int kPipelineSteps = 3;

inline void note_step(PipelineRun& run, const nn::Module& model, double loss) {
  run.losses.push_back(loss);
  for (const Tensor& parameter : model.parameters()) {
    run.gradients.push_back(values_of(parameter.grad()));
    run.weights.push_back(values_of(parameter));
  }
  for (const Tensor& buffer : model.buffers()) run.buffers.push_back(values_of(buffer));
}

inline const optim::SgdOptions kPipelineSgd{0.1, 0.9, 1e-4};

/// Makes an optimizer step from `batches` batches of equal size, of which each passes
/// through the pipeline in micro-batches. Returns the mean loss.
inline double pipeline_step(train::TrainStep& step,
                            const parallel::PipelineModel& pipeline, const Batch& all,
                            int64_t batches = 1) {
  double loss = 0;
  const int64_t rows = all.images.size(0) / batches;
  for (int64_t k = 0; k < batches; ++k) {
    const Batch batch = all.rows(k * rows, rows);
    const train::StepTensors made = step.run(on(pipeline.input_device(), batch.images),
                                             on(pipeline.output_device(), batch.labels),
                                             {k == 0, k + 1 == batches, batches});
    loss += ops::item(made.loss) / static_cast<double>(batches);
  }
  return loss;
}

/// Makes an optimizer step from the chunks of a batch, one after the other. Returns the
/// sum of the scaled losses.
inline double accumulated_step(train::TrainStep& step, const Batch& batch,
                               int64_t micro_batches, Device device) {
  const auto sizes = plan::chunk_sizes(batch.images.size(0), micro_batches);
  const auto count = static_cast<int64_t>(sizes.size());
  int64_t first = 0;
  Tensor loss;
  for (int64_t m = 0; m < count; ++m) {
    const Batch chunk = batch.rows(first, sizes[m]).on(device);
    const Tensor scaled =
        step.run(chunk.images, chunk.labels, {m == 0, m + 1 == count, count}).loss;
    loss = loss.defined() ? ops::add(loss.detach(), scaled.detach()) : scaled;
    first += sizes[m];
  }
  return ops::item(loss);
}

/// `--mode model-parallel`: three steps on the same batch.
inline PipelineRun by_pipeline(const PipelineNet& net, plan::PipelineSchedule schedule,
                               int64_t rows, int64_t accumulated = 1,
                               train::TrainStepOptions options = {}) {
  ops::manual_seed(3);
  const nn::ModulePtr model = net.model();
  const int ranks = static_cast<int>(schedule.size());
  const auto pipeline = std::make_shared<parallel::PipelineModel>(
      model, devices(ranks),
      parallel::PipelineOptions{net.cuts, std::move(schedule), "test"});
  train::TrainStep step(model, pipeline, kPipelineSgd, options);
  PipelineRun run;
  for (int i = 0; i < kPipelineSteps; ++i) {
    const Batch all = net.batch(rows * accumulated);
    note_step(run, *model, pipeline_step(step, *pipeline, all, accumulated));
  }
  return run;
}

/// `--accumulate`: one device, one batch per chunk.
inline PipelineRun by_accumulation(const PipelineNet& net, int64_t rows,
                                   int64_t micro_batches, Device device = reference(0),
                                   train::TrainStepOptions options = {}) {
  ops::manual_seed(3);
  const nn::ModulePtr model = net.model();
  model->to(device);
  train::TrainStep step(model, model, kPipelineSgd, options);
  PipelineRun run;
  for (int i = 0; i < kPipelineSteps; ++i) {
    note_step(run, *model,
              accumulated_step(step, net.batch(rows), micro_batches, device));
  }
  return run;
}

}  // namespace lockstep::test
