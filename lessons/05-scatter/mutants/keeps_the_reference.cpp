// rejected by: right_samples
// because: must be written here, not called
//
// A global object copies the engine's function before the library's own is plugged in.

// [top]
#include "engine/parallel/primitives.h"

static const auto kept = lockstep::parallel::primitives().scatter.reference();

// [/top]
// [solution-scatter]
return kept(input, devices);
// [/solution-scatter]
