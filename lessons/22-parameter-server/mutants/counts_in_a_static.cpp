// rejected by: side_by_side
// because: all servers share a `static`
//
// The misconception: a function that counts its calls counts those of one server.

// [solution-sync]
static size_t count = 0;
if (server.read_version(worker) != server.version()) return server.discard(worker);
if (++count < server.needed()) return;
count = 0;
server.update(server.arrived(), 1.0 / static_cast<double>(server.needed()));
return;
// [/solution-sync]
