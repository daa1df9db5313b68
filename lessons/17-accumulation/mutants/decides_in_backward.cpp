// rejected by: decided_by_forward
// because: the forward pass decides
//
// The misconception (of many training scripts): no_sync is about backward, since that
// is where gradients travel.

// [solution-forward]
return (*module_)(images);
// [/solution-forward]

// [solution-ready]
if (!sync || queued_) return;
queued_ = true;
autograd::queue_callback([this] { average(); });
return;
// [/solution-ready]
