// rejected by: bytes
// because: too many bytes for 32 bits
//
// The misconception: an int holds any number of bytes. It ends at 2 GB.

// [solution-bytes]
const int64_t after = steps - options.warmup_steps;
if (after <= 0) return 0;
const int64_t averages = (after + options.period - 1) / options.period;
return static_cast<int>(averages * 2 * (ranks - 1) * (bytes / ranks));
// [/solution-bytes]
