// rejected by: dp_phases
// because: one after the other, and receives
//
// The misconception: N devices have N links, so copies to all of them take as long as
// one.

// [solution-dp]
  const double others = machine.devices - 1, own = batch / machine.devices;
  const auto message = [&](double bytes, double count) {
    return count * machine.latency + bytes / (machine.gb_per_s * 1000);
  };
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = time_at(job, &Recorded::backward, own) / machine.speed;
  const double optimizer = job.small.optimizer / machine.speed;
  return message(own * job.sample, 1) +
         (others > 0 ? 1 : 0) * message(job.parameters + job.buffers, job.messages) +
         std::max(forward, job.host_forward) + job.small.loss +
         std::max(backward, job.host_backward) +
         (others > 0 ? 1 : 0) * message(job.parameters, job.messages) + optimizer;
// [/solution-dp]
