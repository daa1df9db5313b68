// rejected by: own_code
// because: must be written, not called
//
// The engine has all of these schedules.

// [solution-1f1b]
return plan::pipeline_schedule(plan::PipelineOrder::one_f_one_b, ranks,
                               micro_batches)[rank];
// [/solution-1f1b]
