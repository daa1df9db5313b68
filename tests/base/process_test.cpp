#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"

namespace lockstep {
namespace {

/// Runs a command and keeps its standard output.
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
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "no-such-program-here: no such program; fix: install it");
  }
}

TEST(Process, HasOurEnvironmentAndMore) {
  Capture captured;
  EXPECT_EQ(captured.run({{"sh", "-c", "echo $HOME-$MORE"}, {{"MORE", "more"}}}).code,
            0);
  EXPECT_EQ(captured.text(), std::string(std::getenv("HOME")) + "-more\n");
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
  ASSERT_EQ(::read(output.get(), &first, 1), 1);  // the grandchild is there
  EXPECT_FALSE(process.poll().has_value());
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait().signal, SIGKILL);
  EXPECT_FALSE(process.running());
  char rest[64];
  while (::read(output.get(), rest, sizeof rest) > 0) {
  }  // ends: the grandchild, which held the pipe, is gone as well
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
