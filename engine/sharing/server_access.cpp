#include "engine/sharing/server_access.h"

#include <algorithm>

namespace lockstep::sharing {

void handle_push(ServerAccess& server, const PsOptions& options, int worker) {
  if (options.consistency != Consistency::sync) return server.update({worker}, 1);
  if (server.read_version(worker) != server.version()) return server.discard(worker);
  const std::set<int> arrived = server.arrived();
  if (arrived.size() < server.needed()) return;
  server.update(arrived, 1.0 / static_cast<double>(arrived.size()));
}

bool may_pull(const ServerAccess& server, const PsOptions& options, int worker) {
  const auto too_far_behind = [&](int other) {
    return server.clock(worker) - server.clock(other) > options.staleness;
  };
  switch (options.consistency) {
    case Consistency::sync:
      return !server.arrived().contains(worker);
    case Consistency::async:
      return true;
    case Consistency::ssp:
      return std::ranges::none_of(server.workers(), too_far_behind);
  }
  return true;
}

runtime::Slot<decltype(handle_push)>& server_push() {
  static runtime::Slot<decltype(handle_push)> in_use("server_push", handle_push);
  return in_use;
}

runtime::Slot<decltype(may_pull)>& server_may_pull() {
  static runtime::Slot<decltype(may_pull)> in_use("server_may_pull", may_pull);
  return in_use;
}

}  // namespace lockstep::sharing
