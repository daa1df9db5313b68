// rejected by: the_way_back
// because: are not on the tape
//
// The misconception: an addition is on the tape, so gradients find their way back. The
// copies are not, and neither is what is detached.

// [solution-reduce]
  Tensor sum = losses[0].detach();
  for (size_t i = 1; i < losses.size(); ++i) {
    const Tensor arrived =
        ops::copy_to(losses[i].detach(), sum.device(), {"loss", "loss"});
    sum = ops::add(sum, arrived);
  }
  return sum;
// [/solution-reduce]
