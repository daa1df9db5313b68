// rejected by: bytes
// because: more than one trip
//
// The misconception: an all-reduce of P bytes sends P bytes.

// [solution-bytes]
const int64_t after = steps - options.warmup_steps;
if (after <= 0) return 0;
(void)ranks;
return (after + options.period - 1) / options.period * bytes;
// [/solution-bytes]
