// rejected by: the_way_back
// because: its gradient has to be sent there
//
// The misconception: one number is the same on all devices, so it need not be sent.

// [solution-reduce]
  Tensor sum = losses[0].detach();
  for (size_t i = 1; i < losses.size(); ++i) {
    const Tensor arrived =
        ops::copy_to(losses[i].detach(), sum.device(), {"loss", "loss"});
    sum = ops::add(sum, arrived);
  }
  const size_t count = losses.size();
  autograd::set_history("ReduceBackward", losses, {sum}, tracer::innermost_event(),
                        [count](Tensors grads) {
                          Tensors each;
                          for (size_t i = 0; i < count; ++i) each.push_back(grads[0]);
                          return each;
                        });
  return sum;
// [/solution-reduce]
