#include "gui/model/servers.h"

#include <fmt/format.h>

#include "tracer/format/keys.h"

namespace lockstep::gui {

std::string rank_title(const Model& model, int rank) {
  const int servers = model.servers(), workers = model.ranks() - servers;
  if (servers == 0) return fmt::format("rank {}", rank);
  return rank < workers ? fmt::format("worker {}", rank)
                        : fmt::format("server {}", rank - workers);
}

int64_t weights_of_server(const Model& model, int device) {
  for (const Copy& copy : model.copies) {  // the first step has one
    const bool pulled = model.strings[copy.why] == tracer::reasons::pull;
    if (pulled && copy.src == device) return copy.bytes;
  }
  return 0;
}

}  // namespace lockstep::gui
