// rejected by: too_late
// because: mix gradients for different weights
//
// The misconception: a gradient that comes too late counts in the next update. It does
// on a server that keeps no versions.

// [solution-sync]
const std::set<int> arrived = server.arrived();
if (arrived.size() < server.needed()) return;
server.update(arrived, 1.0 / static_cast<double>(arrived.size()));
return;
// [/solution-sync]
