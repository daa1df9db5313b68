// rejected by: own_code
// because: must be written, not called
//
// The engine averages bucket by bucket, after backward, in one line.

// [solution-ready]
return;
// [/solution-ready]
// [solution-finish]
make_bucketed_sync(parameters_, group_, {})->after_backward();
return;
// [/solution-finish]
