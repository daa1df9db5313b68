// rejected by: dp_phases
// because: each device has a third of the batch
//
// The misconception: each device computes the whole batch.

// [solution-dp]
  const double others = machine.devices - 1, own = batch;
  const auto message = [&](double bytes, double count) {
    return count * machine.latency + bytes / (machine.gb_per_s * 1000);
  };
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = time_at(job, &Recorded::backward, own) / machine.speed;
  const double optimizer = job.small.optimizer / machine.speed;
  return message(own * job.sample, 1) +
         others * message(job.parameters + job.buffers, job.messages) +
         std::max(forward, job.host_forward) + job.small.loss +
         std::max(backward, job.host_backward) +
         others * message(job.parameters, job.messages) + optimizer;
// [/solution-dp]
