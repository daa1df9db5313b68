// rejected by: dp_phases
// because: each device has a third of the batch
//
// The misconception: N devices need an Nth of the time.

// [solution-dp]
  return (time_at(job, &Recorded::forward, batch) + job.small.loss +
          time_at(job, &Recorded::backward, batch) +
          time_at(job, &Recorded::optimizer, batch)) /
         machine.devices / machine.speed;
// [/solution-dp]
