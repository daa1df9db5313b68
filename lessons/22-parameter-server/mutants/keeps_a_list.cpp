// rejected by: who_has_left
// because: A list of your own
//
// The misconception: what this function has seen is all that happens. A worker that
// leaves can make an update due, and the engine makes it.

// [top]
#include <map>
// [/top]

// [solution-sync]
static std::map<ServerAccess*, std::set<int>> lists;
std::set<int>& list = lists[&server];
if (server.read_version(worker) != server.version()) return server.discard(worker);
if (server.version() == 0 && server.arrived().size() == 1) list.clear();
list.insert(worker);
if (list.size() < server.needed()) return;
server.update(server.arrived(), 1.0 / static_cast<double>(list.size()));
list.clear();
return;
// [/solution-sync]
