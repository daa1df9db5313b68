// Flags that only some choices read: some modes, optimizers or schedules.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "run/config.h"
#include "run/environment.h"

namespace lockstep::run {

/// A flag, and the choices that read it.
template <typename Choice>
struct Reader {
  const char* flag;
  std::vector<Choice> choices;
};

/// Throws UsageError if a flag was given that `chosen` would not read. `choice` is the
/// flag that chooses; `name` returns its word for a choice.
template <typename Choice, typename Name>
void require_read(const RunConfig& c, const std::vector<Reader<Choice>>& readers,
                  const char* choice, Choice chosen, Name name) {
  for (const auto& [flag, choices] : readers) {
    const bool reads =
        std::find(choices.begin(), choices.end(), chosen) != choices.end();
    if (reads || !c.given.contains(flag)) continue;
    throw UsageError(
        fmt::format("{0} has no effect on {1} {2}; fix: omit it, or use {1} {3}", flag,
                    choice, name(chosen), name(choices[0])));
  }
}

}  // namespace lockstep::run
