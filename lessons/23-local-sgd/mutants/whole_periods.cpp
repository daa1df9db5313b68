// rejected by: bytes
// because: not after a period
//
// The misconception: in T steps there are T / H averages.

// [solution-bytes]
const int64_t after = steps - options.warmup_steps;
if (after <= 0) return 0;
return after / options.period * 2 * (ranks - 1) * (bytes / ranks);
// [/solution-bytes]
