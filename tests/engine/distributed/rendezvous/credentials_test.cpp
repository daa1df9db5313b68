// Where a process's run id and secret come from, and that ranks of one machine which
// meet through a file have a secret that only their user can read.
// sanitize: address
#include "engine/distributed/rendezvous/credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "engine/distributed/rendezvous/init_method.h"
#include "engine/distributed/rendezvous/tcp_store.h"
#include "tests/base/test_files.h"

namespace lockstep::distributed {
namespace {

class StoreCredentials : public ScratchTest {
 protected:
  std::string file_with(const std::string& text) {
    const std::string path = scratch_ / "secret";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(StoreCredentials, ComeFromTheEnvironment) {
  EXPECT_EQ(read_credentials({}).secret, "");
  EXPECT_EQ(read_credentials({}).run_id, "");
  const Credentials both =
      read_credentials({{"LOCKSTEP_RUN_ID", "seven"}, {"LOCKSTEP_SECRET", " x "}});
  EXPECT_EQ(both.run_id, "seven");
  EXPECT_EQ(both.secret, " x ");
  const std::string path = file_with("a secret \r\n\n");
  EXPECT_EQ(read_credentials({{"LOCKSTEP_SECRET_FILE", path}}).secret, "a secret");
}

TEST_F(StoreCredentials, TakeTheRunIdOfALauncher) {
  const auto run_id = [](std::map<std::string, std::string> variables) {
    return read_credentials(variables).run_id;
  };
  EXPECT_EQ(run_id({{"TORCHELASTIC_RUN_ID", "abc"}}), "abc");
  EXPECT_EQ(run_id({{"TORCHELASTIC_RUN_ID", "none"}}), "") << "torchrun's default";
  EXPECT_EQ(run_id({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"}}), "17.0");
  for (const auto* inner : {"TORCHELASTIC_RUN_ID", "OMPI_COMM_WORLD_RANK"}) {
    EXPECT_EQ(run_id({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "1"}, {inner, "none"}}),
              "")
        << "the step is the launcher's, and another one on each node";
  }
  EXPECT_EQ(run_id({{"SLURM_JOB_ID", "17"}}), "") << "a batch script is no task";
  EXPECT_EQ(run_id({{"LOCKSTEP_RUN_ID", "mine"}, {"TORCHELASTIC_RUN_ID", "abc"}}),
            "mine");
}

TEST_F(StoreCredentials, ThatCannotBeReadAreAnError) {
  expect_error([&] { read_credentials({{"LOCKSTEP_SECRET_FILE", scratch_ / "none"}}); },
               "none: cannot be read: No such file", "fix: let LOCKSTEP_SECRET_FILE");
  expect_error([&] { read_credentials({{"LOCKSTEP_SECRET_FILE", file_with(" \n")}}); },
               "secret: is empty; fix: write the job's secret to it");
  expect_error(
      [&] {
        read_credentials(
            {{"LOCKSTEP_SECRET_FILE", file_with("x")}, {"LOCKSTEP_SECRET", "y"}});
      },
      "are both set; fix: unset one of them");
}

TEST_F(StoreCredentials, OfRanksOfOneMachineAreDrawnAndPrivate) {
  const std::string path = scratch_ / "place";
  const InitMethod init = parse_init_method("local://" + path, 0, 2);
  const auto zero = make_store(init, 0, 2);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto one = make_store(init, 1, 2);
  zero->set("key", "value");
  EXPECT_EQ(one->get("key"), "value");
  int port = 0;
  std::ifstream(path) >> port;
  expect_error([&] { TcpStore("127.0.0.1", port); }, "this rank has no secret");
}

}  // namespace
}  // namespace lockstep::distributed
