// sanitize: address thread
#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace lockstep {
namespace {

/// Runs a command and captures its standard output.
class Capture {
 public:
  ExitStatus run(Command command) {
    command.output = fileno(file_.get());
    return Process(command).wait();
  }
  std::string text() const {
    std::rewind(file_.get());
    std::string text(4096, ' ');
    text.resize(std::fread(text.data(), 1, text.size(), file_.get()));
    return text;
  }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> file_{std::tmpfile(), &std::fclose};
};

TEST(Process, GivesExitCodeAndBothOutputs) {
  const auto result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST(Process, PassesArgumentsAsTheyAreAndNoInput) {
  EXPECT_EQ(run_process({"printf", "%s|", "a b", "$HOME; ls", ""}).output,
            "a b|$HOME; ls||");
  EXPECT_EQ(run_process({"cat"}).output, "");
}

TEST(Process, TakesMoreOutputThanAPipeHolds) {
  EXPECT_EQ(run_process({"head", "-c", "300000", "/dev/zero"}).output.size(), 300'000u);
}

TEST(Process, NamesTheMissingProgram) {
  try {
    run_process({"no-such-program-here"});
    FAIL() << "no exception was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "no-such-program-here: no such program; fix: install it");
  }
}

TEST(Process, MayHaveAnotherNameThanItsFile) {
  Capture captured;
  Command command{{"my-name", "-c", "echo $0"}};
  command.file = "sh";
  captured.run(command);
  EXPECT_EQ(captured.text(), "my-name\n");
}

TEST(Process, HasOurEnvironmentAndMore) {
  Capture captured;
  ::setenv("OURS", "ours", 1);
  EXPECT_EQ(captured.run({{"sh", "-c", "echo $OURS-$MORE"}, {{"MORE", "more"}}}).code,
            0);
  ::unsetenv("OURS");
  EXPECT_EQ(captured.text(), "ours-more\n");
}

/// Runs `work` in a forked copy of this process; returns its exit code.
template <typename Work>
int in_copy(Work&& work) {
  const pid_t copy = ::fork();
  if (copy == 0) {
    try {
      ::_exit(work());
    } catch (const std::exception& error) {
      ::_exit(99);
    }
  }
  int status = 0;
  EXPECT_EQ(::waitpid(copy, &status, 0), copy);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Here the parent's own descriptors, and those of the child's files, are among 0, 1 and
// 2.
TEST(Process, IsStartedByAProcessWithoutStandardFiles) {
  const int code = in_copy([] {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
    const auto result = run_process({"sh", "-c", "cat; echo out; echo err >&2"});
    const bool right = result.output == "out\n" && result.errors == "err\n";
    bool thrown = false;
    try {
      run_process({"no-such-program-here"});
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    return right && thrown ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(Process, FilesMayBeExchanged) {
  const int code = in_copy([] {
    const Fd first(::memfd_create("first", MFD_CLOEXEC));
    const Fd second(::memfd_create("second", MFD_CLOEXEC));
    ::dup2(first.get(), STDOUT_FILENO);
    ::dup2(second.get(), STDERR_FILENO);
    Command command{{"sh", "-c", "echo out; echo error >&2"}};
    command.output = STDERR_FILENO;
    command.errors = STDOUT_FILENO;
    Process(command).wait();
    const auto size = [](const Fd& file) { return ::lseek(file.get(), 0, SEEK_END); };
    return size(first) == 6 && size(second) == 4 ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

TEST(Process, ReportsAFileThatIsNotOpen) {
  Command command{{"true"}};
  command.output = 1'000'000;
  try {
    Process{command};
    FAIL() << "no exception was thrown";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::bad_file_descriptor);
  }
}

TEST(Process, HasOurSignalMask) {
  const auto mask_of_child = [] {
    return run_process({"grep", "SigBlk", "/proc/self/status"}).output;
  };
  EXPECT_EQ(mask_of_child(), "SigBlk:\t0000000000000000\n");
  sigset_t some, before;
  ::sigemptyset(&some);
  ::sigaddset(&some, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &some, &before);
  EXPECT_EQ(mask_of_child(), "SigBlk:\t0000000000000001\n");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Process, StaysEnded) {
  Process process({{"sh", "-c", "exit 7"}});
  EXPECT_EQ(process.wait().code, 7);
  Process other({{"sleep", "100"}});
  EXPECT_EQ(process.wait().code, 7);  // and does not reap the other child
  EXPECT_EQ(process.poll()->code, 7);
  process.signal(SIGKILL);
  EXPECT_FALSE(other.poll().has_value());
  other = std::move(process);
  EXPECT_FALSE(other.running());
  EXPECT_EQ(other.wait().code, 7);
}

// The files and pipes are close-on-exec: no child that another thread starts inherits
// them.
TEST(Process, ThreadsStartThemSideBySide) {
  const std::vector<std::string> list{"ls", "/proc/self/fd"};
  const std::string alone = run_process(list).output;
  std::vector<std::thread> threads;
  std::atomic<int> alike{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round)
        alike += run_process(list).output == alone;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alike, 100);
}

TEST(Process, InheritsNoOtherDescriptor) {
  const std::vector<std::string> list{"ls", "/proc/self/fd"};
  const std::string before = run_process(list).output;
  const Fd ours(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC
  EXPECT_EQ(run_process(list).output, before);
}

TEST(Process, IsHeldToItsLimits) {
  Capture captured;
  Command command{{"sh", "-c", "ulimit -v; ulimit -f; ulimit -c"}};
  command.limits = {int64_t{1} << 30, 1 << 20, false};
  captured.run(command);
  EXPECT_EQ(captured.text(), "1048576\n2048\n0\n");  // in KiB, 512 B and 512 B
}

TEST(Process, AGroupEndsWithItsChildren) {
  Command command{{"sh", "-c", "sleep 100 & echo $!; wait"}};
  command.own_group = true;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd output(ends[0]);
  Fd entrance(ends[1]);
  command.output = entrance.get();
  Process process(command);
  entrance = Fd();
  char first = 0;
  ASSERT_EQ(::read(output.get(), &first, 1), 1);  // the grandchild is running
  EXPECT_FALSE(process.poll().has_value());
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait().signal, SIGKILL);
  EXPECT_FALSE(process.running());
  char rest[64];
  while (::read(output.get(), rest, sizeof rest) > 0) {
  }  // the destructor also kills the grandchild, which held the pipe
}

TEST(Process, IsKilledByItsDestructor) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd output(ends[0]);
  Fd entrance(ends[1]);
  {
    Command command{{"sleep", "100"}};
    command.output = entrance.get();
    const Process process(command);
    entrance = Fd();
  }
  char byte;
  EXPECT_EQ(::read(output.get(), &byte, 1), 0);
}

}  // namespace
}  // namespace lockstep
