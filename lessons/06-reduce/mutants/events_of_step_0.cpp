// rejected by: any_devices
// because: ask a replica's gradients for their device
//
// The misconception: the events are recorded once, in the first step, and waited for in
// every step.

// [solution-wait]
static const std::vector<runtime::EventPtr> finished = [&] {
  std::vector<runtime::EventPtr> events;
  for (const Tensors& replica : gradients) {
    events.push_back(runtime::context(replica[0].device()).compute().record_event());
  }
  return events;
}();
for (const runtime::EventPtr& event : finished) runtime::context(to).copy().wait(event);
return;
// [/solution-wait]
