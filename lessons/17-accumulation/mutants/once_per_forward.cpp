// rejected by: two_passes
// because: only a forward pass changes
//
// The misconception: a decision is used up by the first backward pass. With two forward
// passes before it, the second one's gradients stay on their rank.

// [solution-ready]
if (!averages_ || queued_) return;
queued_ = true;
averages_ = false;
autograd::queue_callback([this] { average(); });
return;
// [/solution-ready]
