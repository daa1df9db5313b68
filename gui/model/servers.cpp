#include "gui/model/servers.h"

#include <fmt/format.h>

#include <algorithm>

#include "tracer/format/keys.h"

namespace lockstep::gui {

std::string rank_title(const Model& model, int rank) {
  const int servers = model.servers(), workers = model.ranks() - servers;
  if (servers == 0) return fmt::format("rank {}", rank);
  return rank < workers ? fmt::format("worker {}", rank)
                        : fmt::format("server {}", rank - workers);
}

int64_t weights_of_server(const Model& model, int device) {
  int64_t most = 0;
  for (const Copy& copy : model.copies) {
    if (copy.src != device || model.strings[copy.why] != tracer::reasons::pull)
      continue;
    most = std::max(most, copy.bytes);
  }
  return most;
}

}  // namespace lockstep::gui
