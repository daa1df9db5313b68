// rejected by: a_step
// because: has changed a little
//
// The misconception: floats must not be compared with ==. Here it is the same number or
// another worker's step, which is small.
// [top]
#include <cmath>
// [/top]
// [solution-moved]
return std::abs(now - read) < 1e-8 ? next : now + (next - read);
// [/solution-moved]
