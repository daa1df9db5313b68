// rejected by: one_message
// because: each message costs its latency
//
// The misconception: fewer averages make the number of messages unimportant. (torchft's
// LocalSGD reduces each parameter.)

// [solution-average]
const double share = 1.0 / group.size();
for (size_t i = 0; i < state.parameters.size(); ++i) {
  flat.pack(i, state.parameters[i].value, share);
  group.all_reduce(flat.view(i), ReduceOp::sum, label()).wait();
  flat.unpack(i, state.parameters[i].value);
}
return;
// [/solution-average]
