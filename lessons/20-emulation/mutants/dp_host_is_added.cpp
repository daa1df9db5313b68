// rejected by: dp_phases
// because: the larger of both, not their sum
//
// The misconception: launches and kernels take turns.

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
         forward + job.host_forward + job.small.loss +
         backward + job.host_backward +
         others * message(job.parameters, job.messages) + optimizer;
// [/solution-dp]
