// Parts of `lockstep train` that ranks as threads and as processes share.
#pragma once

#include "cli/run_options.h"

namespace lockstep::cli {

/// Sets up devices, backends and random numbers of this process.
void configure(const RunOptions& options);

/// What is about to run, so that nobody has to guess what the defaults came to.
void say_what_runs(const RunOptions& options, const DataSets& data,
                   const parallel::Devices& devices, const RankPlace& place);

}  // namespace lockstep::cli
