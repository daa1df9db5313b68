// rejected by: after_all
// because: can enqueue
//
// The misconception: to be sure that something is over, wait for it.

// [solution-wait]
for (const Tensors& replica : gradients) {
  runtime::context(replica[0].device()).synchronize();
}
return;
// [/solution-wait]
