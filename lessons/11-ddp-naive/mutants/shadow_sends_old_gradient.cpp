// rejected by: no_batch
// because: rank 2 added the gradient of its last step
//
// The misconception: a rank without a batch has no gradients, so after_backward sends
// zeros for it. But `.grad` still holds what the last step left there.

// [solution-shadow]
after_backward();
return;
// [/solution-shadow]
