// Memory that ranks share if they are processes of one machine.
#pragma once

#include <memory>

#include "engine/distributed/rendezvous/store.h"
#include "engine/sharing/shared_model.h"
#include "run/rank_place.h"

namespace lockstep::run {

/// Returns what shares memory between the ranks of `store`: rank 0 creates and fills
/// it, the others map it, and nobody else can after that. All ranks make the same calls
/// in the same order. A call throws std::runtime_error if the memory cannot be shared,
/// or naming a rank that does not map it within `timeout`.
sharing::ShareMemory among_processes(std::shared_ptr<distributed::Store> store,
                                     const RankPlace& place, Milliseconds timeout);

}  // namespace lockstep::run
