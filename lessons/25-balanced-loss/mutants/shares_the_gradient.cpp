// rejected by: the_way_back
// because: nobody a share of it
//
// The misconception: what was added is divided among those who added it.

// [solution-reduce]
  Tensor sum = losses[0].detach();
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
                          const double share = 1.0 / double(devices.size());
                          for (const Device device : devices) {
                            each.push_back(
                                ops::scale(ops::copy_to(grads[0], device,
                                                        {"loss_grad", "loss"}),
                                           share));
                          }
                          return each;
                        });
  return sum;
// [/solution-reduce]
