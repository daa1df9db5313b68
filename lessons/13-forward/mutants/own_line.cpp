// rejected by: call_sites
// because: it records its own line
//
// The misconception (a slip): the call is where this code is.

// [solution-call]
const CallEvent event(module, CallLevel::call, input);
return call_impl(module, input);
// [/solution-call]
