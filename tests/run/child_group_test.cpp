#include "run/child_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "run/environment.h"
#include "run/writing.h"

namespace lockstep::run {
namespace {

/// The command line of a child: ChildGroup starts a copy of this program.
std::vector<std::string> child(const std::string& deed) {
  return {"run_test", "--child", deed};
}

std::string file_of_writer() {
  const char* file = std::getenv("CHILD_FILE");
  return file ? file : "";
}

/// If this process is a child, performs the requested action before any test runs.
const bool is_no_child = [] {
  const auto arguments = read_environment().arguments;
  if (arguments.size() != 3 || arguments[1] != "--child") return true;
  const std::string& deed = arguments[2];
  if (deed == "print") {
    std::fputs("one\ntwo\nno end", stdout);
    std::fflush(stdout);
  }
  if (deed == "stops") {  // as a rank does: tells the parent, and ends when told
    static volatile std::sig_atomic_t told = 0;
    std::signal(SIGTERM, [](int) { told = 1; });
    ::kill(::getppid(), SIGTERM);
    while (!told) ::usleep(1000);
    for (int i = 0; i < 40; ++i) ::usleep(10'000);  // longer than a failure allows
    std::ofstream(file_of_writer()) << "written";
    std::_Exit(128 + SIGTERM);
  }
  if (deed == "write") {
    const Writing writing;
    std::ofstream(file_of_writer()) << "begun";
    ::usleep(400'000);
    std::ofstream(file_of_writer()) << "written";
  }
  while (deed == "end after write" && !std::filesystem::exists(file_of_writer())) {
    ::usleep(1000);
  }
  while (deed == "wait") ::pause();
  const char* code = std::getenv("CHILD_CODE");
  std::_Exit(code ? std::atoi(code) : 0);
}();

std::string name_of_file() {
  return std::filesystem::temp_directory_path() /
         ("lockstep-writes-" + std::to_string(::getpid()));
}

/// Also removes the file.
std::string text_in(const std::string& file) {
  std::string text;
  std::ifstream opened(file);
  std::getline(opened, text);
  std::filesystem::remove(file);
  return text;
}

const std::atomic<bool> not_interrupted{false};
const ChildGroup::Variables kNone;

TEST(ChildGroup, ReturnsTheFirstFailure) {
  ChildGroup children(Milliseconds(5000));
  children.start("well", child("end"), kNone);
  children.start("three", child("end"), {{"CHILD_CODE", "3"}});
  EXPECT_EQ(children.wait(not_interrupted), 3);
}

TEST(ChildGroup, AFailureEndsTheOthersAfterTheGrace) {
  ChildGroup children(Milliseconds(50));
  children.start("waits", child("wait"), kNone);
  children.start("three", child("end"), {{"CHILD_CODE", "3"}});
  EXPECT_EQ(children.wait(not_interrupted), 3);
}

TEST(ChildGroup, AnInterruptThatCameBeforeIsPassedOn) {
  const std::atomic<bool> interrupted{true};
  ChildGroup children(Milliseconds(50));
  children.start("waits", child("wait"), kNone);
  EXPECT_EQ(children.wait(interrupted), 128 + SIGINT);
}

// The first child ends at once: its signal has stopped it. The others write for longer
// than the grace, which is for failures.
TEST(ChildGroup, ATerminationIsPassedOnAndWaitsForTheWriters) {
  const std::string file = name_of_file();
  ChildGroup children(Milliseconds(1));
  children.start("writes", child("stops"), {{"CHILD_FILE", file}});
  children.start("ended", child("end"), {{"CHILD_CODE", "130"}});
  EXPECT_EQ(children.wait(not_interrupted), 128 + SIGTERM);
  EXPECT_EQ(children.signal(), SIGTERM);
  EXPECT_EQ(text_in(file), "written");
}

TEST(ChildGroup, ARepeatedTerminationDoesNotEndTheProgramBeforeItsExitCode) {
  EXPECT_EXIT(
      {
        {
          ChildGroup children(Milliseconds(1));
          ::raise(SIGTERM);
          children.wait(not_interrupted);
        }
        ::raise(SIGTERM);
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(ChildGroup, AChildThatWritesIsNotEndedByAnothersFailure) {
  const std::string file = name_of_file();
  ChildGroup children(Milliseconds(1));
  children.start("writes", child("write"), {{"CHILD_FILE", file}});
  children.start("waits", child("wait"), kNone);
  children.start("three", child("end after write"),
                 {{"CHILD_CODE", "3"}, {"CHILD_FILE", file}});
  EXPECT_EQ(children.wait(not_interrupted), 3);
  EXPECT_EQ(text_in(file), "written");
}

// A writer that someone has stopped would hold the launcher for a minute.
TEST(Writing, EndsWhileTheProcessIsStopped) {
  const pid_t writer = ::fork();
  if (writer == 0) {
    const Writing writing;
    ::raise(SIGSTOP);
    for (;;) ::pause();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, WUNTRACED), writer);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_FALSE(is_writing(writer));
  ::kill(writer, SIGCONT);
  ASSERT_EQ(::waitpid(writer, &status, WCONTINUED), writer);
  EXPECT_TRUE(is_writing(writer));
  ::kill(writer, SIGKILL);
  ::waitpid(writer, &status, 0);
  EXPECT_FALSE(is_writing(writer));
}

TEST(ChildGroup, ASignalThatOnlyAChildReceivedIsItsCode) {
  ChildGroup children(Milliseconds(1));
  children.start("told by another", child("end"), {{"CHILD_CODE", "130"}});
  children.start("ended", child("end"), {{"CHILD_CODE", "143"}});
  children.start("well", child("end"), kNone);
  EXPECT_EQ(children.wait(not_interrupted), 128 + SIGTERM);
  EXPECT_EQ(children.signal(), 0);
}

TEST(ChildGroup, ReadsWholeLines) {
  std::mutex mutex;
  std::vector<std::string> lines;
  ChildGroup children(Milliseconds(5000));
  children.start("prints", child("print"), [&](const std::string& line) {
    std::lock_guard lock(mutex);
    lines.push_back(line);
  });
  EXPECT_EQ(children.wait(not_interrupted), 0);
  EXPECT_EQ(lines, (std::vector<std::string>{"one\n", "two\n", "no end\n"}));
}

TEST(ChildGroup, KillsWhatIsLeft) {
  ChildGroup children(Milliseconds(5000));
  children.start("waits", child("wait"), kNone);
}  // the destructor ends the child

}  // namespace
}  // namespace lockstep::run
