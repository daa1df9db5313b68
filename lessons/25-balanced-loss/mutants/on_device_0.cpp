// rejected by: the_sum
// because: need not be device 0
//
// The misconception: the loss belongs on device 0. (It belongs where the first output
// is.)

// [solution-reduce]
  const Device to{losses[0].device().type, 0};
  Tensor sum = ops::copy_to(losses[0].detach(), to, {"loss", "loss"});
  for (size_t i = 1; i < losses.size(); ++i) {
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
