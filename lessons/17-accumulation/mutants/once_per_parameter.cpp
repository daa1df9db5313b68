// rejected by: once
// because: it is queued once in a pass
//
// The misconception: every gradient that arrives asks for the average, of all of them.
// The mean of equal numbers is that number, so no value shows it.

// [solution-ready]
if (!averages_) return;
autograd::queue_callback([this] { average(); });
return;
// [/solution-ready]
