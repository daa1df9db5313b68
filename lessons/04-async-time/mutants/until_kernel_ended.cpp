// rejected by: ahead
// because: to the kernel's start
//
// The misconception: the host is ahead until the kernel is done.

// [solution-leads]
std::map<int64_t, int64_t> op_ended, found;
for (const tracer::Event& event : trace.events) {
  if (event.is("op")) op_ended[event.id] = event.end();
}
for (const tracer::Event& event : trace.events) {
  if (!event.is("kernel")) continue;
  found[event.id] = std::max<int64_t>(0, event.end() - op_ended.at(event.op));
}
return found;
// [/solution-leads]
