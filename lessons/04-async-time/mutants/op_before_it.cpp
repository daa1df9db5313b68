// rejected by: ahead
// because: by its id
//
// The misconception: a kernel belongs to the last op before it.

// [solution-leads]
std::map<int64_t, int64_t> found;
int64_t op_ended = 0;
for (const tracer::Event& event : trace.events) {
  if (event.is("op")) op_ended = event.end();
  if (event.is("kernel")) found[event.id] = std::max<int64_t>(0, event.ts - op_ended);
}
return found;
// [/solution-leads]
