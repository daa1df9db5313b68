// rejected by: only_scalars
// because: sent to the first one's device at once
//
// A sum that is passed from device to device: each waits for the one after it.

// [solution-reduce]
  Tensor sum = losses.back().detach();
  for (size_t i = losses.size() - 1; i-- > 0;) {
    const Tensor arrived =
        ops::copy_to(sum, losses[i].device(), {"loss", "loss"});
    sum = ops::add(losses[i].detach(), arrived);
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
