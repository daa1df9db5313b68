// A store in a file that all processes can reach: `file:///path` of init_process_group.
//
// The file is a log: one frame (frame.h) for each change, appended under flock(2). Each
// process keeps a table of its own and reads what is new in the log before each access.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <mutex>

#include "base/fd.h"
#include "engine/distributed/rendezvous/frame.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/distributed/rendezvous/table.h"

namespace lockstep::distributed {

/// Creates the file if it does not exist, and removes it when every rank of the world
/// has joined and left. A file left behind by another run still holds that run's
/// members, so join() refuses the same ranks and says which file to delete. A process's
/// death is *not* noticed. Construct one object in each process: after a fork, parent
/// and child would share one file lock.
///
/// Calls throw std::runtime_error naming the file if it cannot be read or written, is
/// not a store's file, is cut off, or stays locked by another process for `timeout`.
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
  void join(int rank, int world_size) override;
  void leave() override;
  std::string describe() const override;

 private:
  class Turn;

  void open();
  void lock(int kind) const;
  bool is_removed() const;

  // Must be called during a Turn.
  void read_what_is_new();
  void append(const store::Frame& change);

  void apply(const store::Frame& change);
  [[noreturn]] void fail(const std::string& reason) const;

  const std::filesystem::path path_;
  const int exceptions_at_construction_;

  std::mutex mutex_;  ///< guards all below
  Fd file_;
  off_t read_until_ = 0;  ///< the table holds the log's changes before this offset
  store::KeyValues values_;
  store::Members members_;
  std::vector<int> joined_;  ///< ranks that joined through this object
};

}  // namespace lockstep::distributed
