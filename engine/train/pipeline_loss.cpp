#include "engine/train/pipeline_loss.h"

#include "engine/ops/ops.h"
#include "tracer/record/recorder.h"

namespace lockstep::train {

double loss_weight(int64_t rows, int64_t batch, int64_t batches) {
  return static_cast<double>(rows) / static_cast<double>(batch * batches);
}

Tensor PipelineLoss::operator()(const Tensor& output, int64_t first_row) {
  const tracer::Phase phase("loss");
  const int64_t rows = output.size(0), batch = labels_.size(0);
  const Tensor labels = labels_.narrowed(first_row, rows);
  const Tensor mean = ops::cross_entropy(output, labels, ops::Reduction::mean,
                                         options_.label_smoothing);
  const double share = loss_weight(rows, batch, 1);
  add(sums_.loss, mean, share);
  if (options_.accuracy) {
    add(sums_.acc1, ops::accuracy(output, labels, 1), share);
    add(sums_.acc5, ops::accuracy(output, labels, 5), share);
  }
  output_bytes_ += output.nbytes();
  const double weight = loss_weight(rows, batch, options_.batches);
  return weight == 1 ? mean : ops::scale(mean, weight);
}

void PipelineLoss::add(Tensor& sum, const Tensor& value, double weight) const {
  const Tensor term = weight == 1 ? value.detach() : ops::scale(value.detach(), weight);
  sum = sum.defined() ? ops::add(sum, term) : term;
}

}  // namespace lockstep::train
