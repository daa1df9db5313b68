// rejected by: ddp_overlap
// because: 2 (N − 1) messages of 1/N of it
//
// The misconception: a ring of N sends N − 1 messages.

// [solution-ddp]
  const double ranks = machine.devices, own = batch / ranks;
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = std::max(
      time_at(job, &Recorded::backward, own) / machine.speed, job.host_backward);
  const double begin = std::max(forward, job.host_forward) + job.small.loss;
  double arrived = begin;
  for (const Bucket& bucket : job.buckets) {
    const double full = begin + bucket.ready * backward;
    const double part = bucket.bytes / ranks / (machine.gb_per_s * 1000);
    arrived = std::max(arrived, full) + (ranks - 1) * (machine.latency + part);
  }
  return std::max(begin + backward, arrived) +
         job.small.optimizer / machine.speed;
// [/solution-ddp]
