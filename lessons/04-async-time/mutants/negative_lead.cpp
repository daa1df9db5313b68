// rejected by: ahead
// because: 0 if the op was still running
//
// The misconception: a lead may be negative.

// [solution-leads]
std::map<int64_t, int64_t> op_ended, found;
for (const tracer::Event& event : trace.events) {
  if (event.is("op")) op_ended[event.id] = event.end();
}
for (const tracer::Event& event : trace.events) {
  if (!event.is("kernel")) continue;
  found[event.id] = event.ts - op_ended.at(event.op);
}
return found;
// [/solution-leads]
