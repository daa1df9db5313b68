// rejected by: only_scalars
// because: makes it wait for the devices
//
// The misconception: a number is a number. `item()` makes the host wait for each
// device.

// [solution-reduce]
  double total = 0;
  for (const Tensor& loss : losses) total += ops::item(loss);
  const Tensor number = Tensor::from({total}, {}, losses[0].dtype());
  const Tensor sum = ops::copy_to(number, losses[0].device(), {"loss", "loss"});
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
