// Rows that are not the time of one training step: bytes of buckets, efficiencies, and
// pipelines.
#pragma once

#include "tracer/emulate/scoreboard/scoreboard.h"

namespace lockstep::tracer {

/// Predicts such a row, or says why not.
void predict_other(const std::vector<PublishedRow>& rows, const AloneRows& alone_rows,
                   RowPrediction& result);

/// Returns the speed of a pipeline relative to one device, for a model that is cut into
/// `stages` stages at the given micro-batches: GPipe's schedule, whose backward passes
/// repeat the forward pass, except for the last micro-batch (torchgpipe). A stage's
/// time is its share of the model's multiplications, cut where the slowest stage is
/// fastest; without a net, stages are equal.
double pipeline_speed(const Net* net, int stages, int micro_batches);

}  // namespace lockstep::tracer
