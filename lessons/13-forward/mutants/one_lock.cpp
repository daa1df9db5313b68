// rejected by: at_once
// because: nothing to lock
//
// The misconception: what several threads call needs a mutex. The replicas of
// DataParallel then run one after the other.

// [top]
#include <mutex>
// [/top]

// [solution-call]
static std::recursive_mutex one;
const std::lock_guard<std::recursive_mutex> guard(one);
const CallEvent event(module, CallLevel::call, input, site);
return call_impl(module, input);
// [/solution-call]
