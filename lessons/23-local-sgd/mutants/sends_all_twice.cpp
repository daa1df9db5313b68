// rejected by: bytes
// because: the number of averages is right
//
// The misconception: each of the 2 (N - 1) messages in a ring has all bytes.

// [solution-bytes]
const int64_t after = steps - options.warmup_steps;
if (after <= 0) return 0;
const int64_t averages = (after + options.period - 1) / options.period;
return averages * 2 * (ranks - 1) * bytes;
// [/solution-bytes]
