// Who takes part in a run: which ranks have joined a store, and which have left it.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace lockstep::distributed::store {

/// "pid 123 on host": whom a message about two processes with one rank names.
std::string this_process();

/// Throws std::runtime_error unless 0 ≤ rank < world_size.
void check_rank(int rank, int world_size);

/// Not thread-safe.
class Members {
 public:
  /// Why `who` may not join, whom it collides with and how to fix it; nullopt: it may.
  /// A rank joins once: if it could come back, a second process with the same rank
  /// would pass unnoticed whenever it is late.
  std::optional<std::string> refusal(int rank, int world_size,
                                     const std::string& who) const;

  void join(int rank, int world_size, const std::string& who);
  void leave(int rank);

  /// Every rank of the world has joined and left.
  bool all_have_left() const;

 private:
  struct Member {
    std::string who;
    bool left = false;
  };

  int world_size_ = 0;             // as the first one said
  std::map<int, Member> members_;  // by rank
};

}  // namespace lockstep::distributed::store
