// rejected by: dp_phases
// because: neither can use what the other has left
//
// The misconception: a step takes the longer of all launches and all kernels.

// [solution-dp]
  const double others = machine.devices - 1, own = batch / machine.devices;
  const auto message = [&](double bytes, double count) {
    return count * machine.latency + bytes / (machine.gb_per_s * 1000);
  };
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = time_at(job, &Recorded::backward, own) / machine.speed;
  const double optimizer = job.small.optimizer / machine.speed;
  return message(own * job.sample, 1) +
         others * message(job.parameters + job.buffers, job.messages) +
         std::max(forward + backward, job.host_forward + job.host_backward) + job.small.loss +
         others * message(job.parameters, job.messages) + optimizer;
// [/solution-dp]
