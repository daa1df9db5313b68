// rejected by: all_of_them
// because: the gradients of all workers
//
// The misconception: when the last gradient comes, that is the one to use.

// [solution-sync]
if (server.arrived().size() < server.needed()) return;
server.update({worker}, 1.0 / static_cast<double>(server.needed()));
return;
// [/solution-sync]
