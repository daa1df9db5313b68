// rejected by: exceptions
// because: the guard restores in any case
//
// The misconception: an exception ends the training anyway.

// [top]
#include <exception>
// [/top]

// [solution-leave]
if (std::uncaught_exceptions() == 0) model_.sync = before_;
// [/solution-leave]
