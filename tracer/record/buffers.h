// The recorder's memory. Private to this folder.
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

/// A record, with its lists given as places in the buffer's arenas.
struct Entry {
  Record record;
  uint32_t first_arg, arg_count;
  uint32_t first_dep, dep_count;
  uint32_t first_wait, wait_count;
};

/// The events recorded by one thread.
struct Buffer {
  Arena<Entry> entries;
  Arena<Arg> args;
  Arena<int64_t> lists;  ///< shapes, deps and other lists
};

/// State shared by all threads. Each thread writes to its own buffer without the lock;
/// `collect` reads all of them while no thread is recording.
struct Shared {
  std::mutex mutex;  ///< guards the members below, but not the buffers' contents
  std::vector<std::unique_ptr<Buffer>> buffers;  ///< every buffer, in use or not
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
