// rejected by: the_sum
// because: `criterion` divides, `reduce` adds
//
// The misconception: reduce makes the mean. (So criterion divides twice.)

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
                          for (const Device device : devices) {
                            each.push_back(ops::copy_to(grads[0], device,
                                                        {"loss_grad", "loss"}));
                          }
                          return each;
                        });
  return ops::scale(sum, 1.0 / double(losses.size()));
// [/solution-reduce]
