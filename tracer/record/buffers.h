// The recorder's memory. Private to this folder.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tracer/format/trace.h"
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

/// A set of pointers, cheap to ask for one that it holds.
class PointerSet {
 public:
  /// Returns whether `pointer`, which is not null, was added.
  bool insert(const void* pointer) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const void*& slot = slot_of(pointer);
    if (slot == pointer) return false;
    slot = pointer;
    ++count_;
    return true;
  }

 private:
  const void*& slot_of(const void* pointer) {
    size_t at = (reinterpret_cast<uintptr_t>(pointer) * 0x9e3779b97f4a7c15u) >> 32;
    while (slots_[at & (slots_.size() - 1)] != nullptr &&
           slots_[at & (slots_.size() - 1)] != pointer) {
      ++at;
    }
    return slots_[at & (slots_.size() - 1)];
  }
  void grow() {
    std::vector<const void*> old(std::max<size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const void* pointer : old) {
      if (pointer != nullptr) slot_of(pointer) = pointer;
    }
  }

  std::vector<const void*> slots_;  ///< a power of two of them
  size_t count_ = 0;
};

/// The events recorded by one thread.
struct Buffer {
  explicit Buffer(uint32_t number)
      : entries(BlockKind::entries, number),
        args(BlockKind::args, number),
        lists(BlockKind::lists, number) {}

  Arena<Entry> entries;
  Arena<Arg> args;
  Arena<int64_t> lists;  ///< shapes, deps and other lists
  PointerSet noted;      ///< texts of its entries that the journal holds

  void rest() const { entries.rest(), args.rest(), lists.rest(); }
};

/// Everything that was recorded and not yet collected, in this process or in another
/// one's journal.
struct Recorded {
  std::vector<std::unique_ptr<Buffer>> buffers;  ///< every buffer, in use or not
  std::vector<std::string> host_lanes{"main"};
  std::map<int, int> device_ranks;  ///< device → rank, if not 0
  int64_t origin = 0;
};

/// Returns the events of `recorded`, as `collect` does. Entries that are incomplete are
/// left out.
std::vector<Event> events_of(const Recorded& recorded,
                             const std::vector<DeviceActivity>& activities);

/// State shared by all threads. Each thread writes to its own buffer without the lock;
/// `collect` reads all of them while no thread is recording.
struct Shared : Recorded {
  std::mutex mutex;           ///< guards all members, but not the buffers' contents
  std::vector<Buffer*> idle;  ///< of threads that have ended
  uint32_t next_buffer = 0;
  std::set<std::string, std::less<>> strings;
  std::atomic<int64_t> first_kept{0};  ///< events with a smaller id were collected
  std::string run;
  std::vector<DeviceActivitySource> activity_sources;

  /// What a journal says besides events; see journal.cpp. Empty if none is open.
  std::unique_ptr<Arena<char>> notes;
  PointerSet noted;  ///< texts in `notes`
};
Shared& shared();

/// What a note is about; the numbers are those in a journal's file.
enum class NoteKind : uint32_t {
  text = 1,     ///< of the pointer `number`
  lane,         ///< the name of host lane `number`
  device_rank,  ///< device `number` belongs to the rank in the text
  origin,       ///< the origin of time is `number`
  head,         ///< the trace without events, as JSON
  source,       ///< a file's name, a zero byte and its text
  left_out,     ///< step `number` is not part of the trace
};

/// Adds a note to the journal if one is open. `shared().mutex` must be held.
void note(NoteKind kind, int64_t number, std::string_view text);

/// Notes the texts that an entry refers to. Called by the thread of the buffer.
void note_texts(Buffer& buffer, const Record& record, std::span<const Arg> args);

namespace detail {
extern std::atomic<bool> journaling;
}

}  // namespace lockstep::tracer
