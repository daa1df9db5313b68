// rejected by: ddp_overlap
// because: of a ring has its latency
//
// The misconception: a collective has one latency.

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
    arrived = std::max(arrived, full) + (machine.latency + 2 * (ranks - 1) * part);
  }
  return std::max(begin + backward, arrived) +
         job.small.optimizer / machine.speed;
// [/solution-ddp]
