// Forked child processes, and pipes to communicate with them.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

namespace lockstep::distributed {

/// Runs `work` in a forked child, which exits with 0, or with 1 if `work` throws. Must
/// be constructed before any thread starts.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  ~Child() {
    if (!waited_) kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Returns the exit status.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    waited_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }

 private:
  const pid_t pid_;
  bool waited_ = false;
};

/// Sends numbers from one process to another.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    for (int end : ends_) ::close(end);
  }
  void send(int number) { EXPECT_EQ(::write(ends_[1], &number, sizeof number), 4); }
  int receive() {
    int number = -1;
    EXPECT_EQ(::read(ends_[0], &number, sizeof number), 4);
    return number;
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace lockstep::distributed
