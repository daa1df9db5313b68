// Parameter servers: which ranks they are, and how much of the weights each has.
#pragma once

#include <string>

#include "gui/model/model.h"

namespace lockstep::gui {

/// Returns what all panels call a rank: "worker 1" or, for the ranks after the workers,
/// "server 0"; "worker 1" of hogwild and locked, too; else "rank 1", with the rank's
/// own number where a few represent many: "rank 1023".
std::string rank_title(const Model& model, int rank);

/// Returns false for a rank without events on a host: the workers' threads do a
/// server's work.
bool has_program(const Model& model, int rank);

/// Returns the bytes of the weights that the server on a device has: those of the first
/// pull, as every pull copies all of them. 0 if nobody has pulled from it.
int64_t weights_of_server(const Model& model, int device);

}  // namespace lockstep::gui
