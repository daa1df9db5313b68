// A store in a file accessible to all processes: `file:///path` of init_process_group.
//
// The file is a log with one frame (frame.h) per change, appended under flock(2). Each
// process maintains its own table and reads new log entries before each access.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <mutex>

#include "base/fd.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/distributed/rendezvous/table.h"

namespace lockstep::distributed {

/// Creates the file if it does not exist and removes it once every rank of the world
/// has joined and left. A file left over from another run still contains that run's
/// members, so join() rejects the same ranks and names the file to delete. The death of
/// a process is *not* detected. Construct the object after any fork, once per process:
/// otherwise parent and child would share a file lock.
///
/// Calls throw std::runtime_error naming the file if it cannot be read or written, is
/// not a store file, is truncated, or stays locked by another process for `timeout`.
/// Source: torch/csrc/distributed/c10d/FileStore.cpp.
class FileStore : public Store {
 public:
  explicit FileStore(std::filesystem::path path,
                     Milliseconds timeout = kDefaultStoreTimeout);
  ~FileStore() override;

  using Store::get;
  using Store::wait;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, Milliseconds timeout) override;
  std::optional<std::string> try_get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override;
  bool remove(const std::string& key) override;
  Health beat(const Beat& mine) override;
  void join(int rank, int world_size) override;
  void leave() override;
  std::string describe() const override;

 private:
  class Turn;

  void open();
  void lock(int kind) const;
  bool is_removed() const;

  // Must be called while a Turn is held.
  void read_what_is_new();
  void append(const store::Frame& change);

  void apply(const store::Frame& change);
  [[noreturn]] void fail(const std::string& reason) const;

  const std::filesystem::path path_;
  const int exceptions_at_construction_;

  std::mutex mutex_;  ///< guards all members below
  Fd file_;
  off_t read_until_ = 0;  ///< the table reflects the log up to this offset
  store::KeyValues values_;
  store::Members members_;
  store::Heartbeats heartbeats_;
  std::vector<int> joined_;  ///< ranks that joined through this object
};

}  // namespace lockstep::distributed
