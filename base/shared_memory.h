// Memory that several processes of one machine map.
#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"

namespace lockstep {

/// A mapping of memory that has no name in any folder: it vanishes with the last
/// process that maps it, however that process ends. Movable; the mapping ends with the
/// object.
class SharedMemory {
 public:
  /// Returns new memory of `bytes` zero bytes. Throws std::runtime_error.
  static SharedMemory create(size_t bytes);

  /// Maps what another process, which runs on this machine as the same user, has
  /// created. `address` is that process's address(). Throws std::runtime_error if the
  /// memory is not there, or has a different size.
  static SharedMemory open(const std::string& address, size_t bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  /// The first byte; aligned to 64 bytes.
  char* data() const;
  size_t bytes() const { return bytes_; }

  /// Returns what another process needs to map the memory. REQUIRES: created by this
  /// process, and not sealed.
  std::string address() const;
  /// From now on no other process can map the memory.
  void seal() { file_ = Fd(); }

 private:
  SharedMemory(Fd file, size_t bytes);

  Fd file_;
  size_t bytes_;
  void* mapping_ = nullptr;
};

}  // namespace lockstep
