// A file descriptor that is closed by its destructor.
#pragma once

#include <unistd.h>

#include <utility>

namespace lockstep {

/// Owns a descriptor, or is empty. Not thread-safe.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  /// Closes the previous descriptor.
  Fd& operator=(Fd&& other) noexcept {
    const Fd old(std::exchange(fd_, std::exchange(other.fd_, -1)));
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }

  /// Returns the descriptor without closing it; the Fd is empty afterwards.
  int release() { return std::exchange(fd_, -1); }

  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;  ///< −1 if empty
};

}  // namespace lockstep
