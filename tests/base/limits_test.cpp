#include "base/limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <system_error>

namespace lockstep {
namespace {

/// Returns what `act` says in a process with these limits of open files.
int in_process(rlim_t soft, rlim_t hard, const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{soft, hard};
    ::_exit(::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? act() : 99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Limits, OfOpenFilesIsRaisedAsFarAsAllowed) {
  const auto raise_to_100 = [] {
    require_open_files(100, "7 ranks");
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<int>(limit.rlim_cur);
  };
  EXPECT_EQ(in_process(64, 128, raise_to_100), 100);
  EXPECT_EQ(in_process(120, 128, raise_to_100), 120);
}

TEST(Limits, ThatIsTooLowIsNamedWithTheFix) {
  EXPECT_EQ(in_process(64, 64,
                       [] {
                         try {
                           require_open_files(100, "7 ranks");
                         } catch (const std::runtime_error& error) {
                           const std::string said = error.what();
                           return said.starts_with(
                                      "7 ranks need about 100 open files, "
                                      "and the limit is 64; fix: ulimit "
                                      "-n 100")
                                      ? 0
                                      : 1;
                         }
                         return 2;
                       }),
            0);
}

TEST(Limits, OfThreadsAreNamedWhereTheSystemRefusesOne) {
  const std::system_error refused(EAGAIN, std::system_category());
  const std::string said = with_limits(refused);
  EXPECT_NE(said.find("(ulimit -u)"), std::string::npos) << said;
  EXPECT_NE(said.find("fix: "), std::string::npos) << said;
  const std::system_error other(ENOENT, std::system_category());
  EXPECT_EQ(with_limits(other), other.what());
  EXPECT_EQ(with_limits(std::runtime_error("x")), "x");
}

}  // namespace
}  // namespace lockstep
