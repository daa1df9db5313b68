// Parameter servers: which ranks they are, and how much of the weights each has.
#pragma once

#include <string>

#include "gui/model/model.h"

namespace lockstep::gui {

/// Returns "worker 1" or, for the ranks after the workers, "server 0"; "rank 1" if the
/// trace has no servers.
std::string rank_title(const Model& model, int rank);

/// Returns the bytes of the weights that the server on a device has: those of the first
/// pull, as every pull copies all of them. 0 if nobody has pulled from it.
int64_t weights_of_server(const Model& model, int device);

}  // namespace lockstep::gui
