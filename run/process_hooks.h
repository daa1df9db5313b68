// What ranks that are processes do around their steps, besides training.
#pragma once

#include <memory>

#include "engine/sharing/remote_servers.h"
#include "run/train.h"

namespace lockstep::run {

/// Workers at their own pace meet only where the trace begins and ends, and when they
/// make no more steps. One that is told to stop tells the others.
RecordingHooks process_hooks(const RunConfig& config, const DataSets& data,
                             const RankPlace& place);

/// The same for workers of parameter servers that are processes. A worker that waits
/// where the trace begins or ends is not waited for.
RecordingHooks process_hooks(const RunConfig& config, const DataSets& data,
                             const RankPlace& place,
                             const std::shared_ptr<sharing::RemoteServers>& servers);

}  // namespace lockstep::run
