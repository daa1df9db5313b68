// rejected by: ddp_overlap
// because: neither can use what the other has left
//
// The misconception: a step takes the longer of all launches and all kernels.

// [solution-ddp]
  const double ranks = machine.devices, own = batch / ranks;
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double kernels = time_at(job, &Recorded::backward, own) / machine.speed;
  const double both =
      std::max(forward + kernels, job.host_forward + job.host_backward);
  const double backward = std::max(kernels, job.host_backward);
  const double begin = both - backward + job.small.loss;
  double arrived = begin;
  for (const Bucket& bucket : job.buckets) {
    const double full = begin + bucket.ready * backward;
    const double part = bucket.bytes / ranks / (machine.gb_per_s * 1000);
    arrived = std::max(arrived, full) + 2 * (ranks - 1) * (machine.latency + part);
  }
  return std::max(begin + backward, arrived) +
         job.small.optimizer / machine.speed;
// [/solution-ddp]
