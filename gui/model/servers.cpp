#include "gui/model/servers.h"

#include <fmt/format.h>

#include "tracer/format/keys.h"

namespace lockstep::gui {

std::string rank_title(const Model& model, int rank) {
  const int servers = model.servers(), workers = model.ranks() - servers;
  if (servers == 0) {
    const std::string mode = model.meta_text(tracer::top::mode);
    const bool shares = mode == "hogwild" || mode == "locked";
    return fmt::format("{} {}", shares ? "worker" : "rank", model.number_of(rank));
  }
  return rank < workers ? fmt::format("worker {}", rank)
                        : fmt::format("server {}", rank - workers);
}

bool has_program(const Model& model, int rank) {
  const auto index = static_cast<size_t>(rank);
  if (rank < 0 || index + 1 >= model.rank_places.size()) return false;
  for (uint32_t at = model.rank_places[index]; at < model.rank_places[index + 1];
       ++at) {
    if (model.lanes[model.events[model.program[at]].lane].is_host()) return true;
  }
  return false;
}

int64_t weights_of_server(const Model& model, int device) {
  for (const Copy& copy : model.copies) {  // the first step has one
    const bool pulled = model.strings[copy.why] == tracer::reasons::pull;
    if (pulled && copy.src == device) return copy.bytes;
  }
  return 0;
}

}  // namespace lockstep::gui
