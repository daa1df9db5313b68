// rejected by: ddp_overlap
// because: the host launches each kernel
//
// The misconception: backward depends on the device alone.

// [solution-ddp]
  const double ranks = machine.devices, own = batch / ranks;
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = time_at(job, &Recorded::backward, own) / machine.speed;
  const double begin = std::max(forward, job.host_forward) + job.small.loss;
  double arrived = begin;
  for (const Bucket& bucket : job.buckets) {
    const double full = begin + bucket.ready * backward;
    const double part = bucket.bytes / ranks / (machine.gb_per_s * 1000);
    arrived = std::max(arrived, full) + 2 * (ranks - 1) * (machine.latency + part);
  }
  return std::max(begin + backward, arrived) +
         job.small.optimizer / machine.speed;
// [/solution-ddp]
