// rejected by: all_of_them
// because: waits for the gradients of all workers
//
// The misconception: to apply N gradients one after the other, or their mean, is the
// same.

// [solution-sync]
server.update({worker}, 1.0 / static_cast<double>(server.needed()));
return;
// [/solution-sync]
