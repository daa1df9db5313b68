// rejected by: ahead
// because: of four kernels
//
// The misconception: whatever runs on a device is a kernel.

// [solution-leads]
std::map<int64_t, int64_t> op_ended, found;
for (const tracer::Event& event : trace.events) {
  if (event.is("op")) op_ended[event.id] = event.end();
}
for (const tracer::Event& event : trace.events) {
  if (event.op == tracer::kNone) continue;
  found[event.id] = std::max<int64_t>(0, event.ts - op_ended.at(event.op));
}
return found;
// [/solution-leads]
