// rejected by: dp_phases
// because: scattered also to a single device
//
// The misconception: a step consists of what is computed in it.

// [solution-dp]
  const double own = batch / machine.devices;
  const double forward = time_at(job, &Recorded::forward, own) / machine.speed;
  const double backward = time_at(job, &Recorded::backward, own) / machine.speed;
  const double optimizer = job.small.optimizer / machine.speed;
  return std::max(forward, job.host_forward) + job.small.loss +
         std::max(backward, job.host_backward) + optimizer;
// [/solution-dp]
