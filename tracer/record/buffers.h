// What the recorder keeps until it is collected; private to this folder.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tracer/record/arena.h"
#include "tracer/record/device_activity.h"
#include "tracer/record/recorder.h"

namespace lockstep::tracer {

/// A record with its lists, as places in its buffer's arenas.
struct Entry {
  Record record;
  uint32_t first_arg, arg_count;
  uint32_t first_dep, dep_count;
  uint32_t first_wait, wait_count;
};

/// What one thread has recorded.
struct Buffer {
  Arena<Entry> entries;
  Arena<Arg> args;
  Arena<int64_t> lists;  ///< shapes, deps and other lists
};

/// The state that all threads share.
struct Shared {
  std::mutex mutex;
  std::vector<std::unique_ptr<Buffer>> buffers;  ///< all, in use or not
  std::vector<Buffer*> idle;                     ///< of threads that have ended
  std::vector<std::string> host_lanes{"main"};
  std::map<int, int> device_ranks;  ///< device → rank, if not 0
  std::set<std::string, std::less<>> strings;
  std::atomic<int64_t> first_kept{0};  ///< events with a smaller id were collected
  int64_t origin = 0;
  std::string run;
  std::vector<DeviceActivitySource> activity_sources;
};
Shared& shared();

}  // namespace lockstep::tracer
