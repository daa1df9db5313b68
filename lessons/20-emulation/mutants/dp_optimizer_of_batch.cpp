// rejected by: dp_phases
// because: as long with any batch
//
// The misconception: the optimizer has more to do for more images.

// [solution-dp]
  const double others = machine.devices - 1, own = batch / machine.devices;
  const auto message = [&](double bytes, double count) {
    return count * machine.latency + bytes / (machine.gb_per_s * 1000);
  };
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = time_at(job, &Recorded::backward, own) / machine.speed;
  const double optimizer = time_at(job, &Recorded::optimizer, own) / machine.speed;
  return message(own * job.sample, 1) +
         others * message(job.parameters + job.buffers, job.messages) +
         std::max(forward, job.host_forward) + job.small.loss +
         std::max(backward, job.host_backward) +
         others * message(job.parameters, job.messages) + optimizer;
// [/solution-dp]
