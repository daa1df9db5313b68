#include "engine/distributed/rendezvous/store.h"

#include <fmt/format.h>

#include "engine/distributed/rendezvous/text.h"

namespace lockstep::distributed {

StoreTimeout::StoreTimeout(std::vector<std::string> keys, const std::string& store,
                           Milliseconds timeout)
    : std::runtime_error(fmt::format("{}: no {} after {}; is every rank running?",
                                     store, store::quoted(keys),
                                     store::seconds(within_reason(timeout)))),
      keys_(std::move(keys)) {}

std::string gone_key(int rank) { return fmt::format("gone/{}", rank); }

}  // namespace lockstep::distributed
