// rejected by: the_sum
// because: the last one as well
//
// A loop that ends one too early.

// [solution-reduce]
  Tensor sum = losses[0].detach();
  for (size_t i = 1; i + 1 < losses.size(); ++i) {
    const Tensor arrived =
        ops::copy_to(losses[i].detach(), sum.device(), {"loss", "loss"});
    sum = ops::add(sum, arrived);
  }
  parallel::Devices devices;
  for (const Tensor& loss : losses) devices.push_back(loss.device());
  autograd::set_history("ReduceBackward", losses, {sum}, tracer::innermost_event(),
                        [devices](Tensors grads) {
                          Tensors each;
                          for (const Device device : devices) {
                            each.push_back(ops::copy_to(grads[0], device,
                                                        {"loss_grad", "loss"}));
                          }
                          return each;
                        });
  return sum;
// [/solution-reduce]
