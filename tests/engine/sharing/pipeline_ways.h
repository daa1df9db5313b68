// Ways of training with the layers on several devices, and with gradient accumulation.
#pragma once

#include "tests/engine/parallel/pipeline_nets.h"
#include "tests/engine/sharing/ways.h"

namespace lockstep::test {

/// `--mode model-parallel`, with `ranks` × `stages_per_rank` stages: those of the last
/// cuts of the problem.
inline Way by_model_parallel(plan::PipelineOrder order, int ranks, int micro_batches,
                             int stages_per_rank = 1) {
  return [=](const Problem& problem) {
    ops::manual_seed(1);
    const nn::ModulePtr model = problem.model(kHost);
    const auto stages = static_cast<size_t>(ranks * stages_per_rank);
    const auto pipeline = std::make_shared<parallel::PipelineModel>(
        model, devices(ranks),
        parallel::PipelineOptions{
            {problem.cuts.end() - static_cast<int64_t>(stages - 1), problem.cuts.end()},
            plan::pipeline_schedule(order, ranks, micro_batches, stages_per_rank),
            "test"});
    return train_by(problem, model, pipeline, {.accuracy = false},
                    [&](train::TrainStep& step, size_t i) {
                      return pipeline_step(step, *pipeline, problem.batch(i));
                    });
  };
}

/// One forward pass and one backward pass over all devices, one after the other.
inline Way by_naive_model_parallel() {
  return by_model_parallel(plan::PipelineOrder::gpipe, 4, 1);
}

/// `--accumulate M` on one device.
inline Way by_accumulating(int64_t micro_batches) {
  return [=](const Problem& problem) {
    ops::manual_seed(1);
    const nn::ModulePtr model = problem.model(reference(0));
    return train_by(problem, model, model, {.accuracy = false},
                    [&](train::TrainStep& step, size_t i) {
                      return accumulated_step(step, problem.batch(i), micro_batches,
                                              reference(0));
                    });
  };
}

}  // namespace lockstep::test
