// rejected by: ahead
// because: from the end of the op
//
// The misconception: the host is ahead from the moment when it begins to enqueue.

// [solution-leads]
std::map<int64_t, int64_t> op_ended, found;
for (const tracer::Event& event : trace.events) {
  if (event.is("op")) op_ended[event.id] = event.ts;
}
for (const tracer::Event& event : trace.events) {
  if (!event.is("kernel")) continue;
  found[event.id] = std::max<int64_t>(0, event.ts - op_ended.at(event.op));
}
return found;
// [/solution-leads]
