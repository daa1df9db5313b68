// The table of launchers, with environments as the launchers themselves set them
// (Open MPI 4.1.4, MPICH 4.0.2, Slurm 22.05, torchrun of PyTorch 1.13), shortened.
// sanitize: address
#include "engine/distributed/rendezvous/launchers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/base/test_files.h"

namespace lockstep::distributed {
namespace {

const Variables kTorchrun{{"RANK", "5"},
                          {"WORLD_SIZE", "8"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "4"},
                          {"GROUP_RANK", "1"},
                          {"MASTER_ADDR", "node0"},
                          {"MASTER_PORT", "29500"},
                          {"TORCHELASTIC_RUN_ID", "none"},
                          {"TORCHELASTIC_RESTART_COUNT", "0"},
                          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"PMIX_NAMESPACE", "667222017"}};
const Variables kMpich{{"PMI_RANK", "1"},
                       {"PMI_SIZE", "2"},
                       {"MPI_LOCALRANKID", "1"},
                       {"MPI_LOCALNRANKS", "2"}};
const Variables kSlurm{{"SLURM_JOB_ID", "3"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_PROCID", "3"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_NTASKS", "4"},
                       {"SLURM_STEP_NUM_TASKS", "4"},
                       {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                       {"SLURM_STEP_NODELIST", "n[1-2]"}};
const Variables kPyTorchJob{{"RANK", "1"},
                            {"WORLD_SIZE", "3"},
                            {"MASTER_ADDR", "job-master-0"},
                            {"MASTER_PORT", "23456"},
                            {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
const Variables kPlain{{"RANK", "2"}, {"WORLD_SIZE", "3"}};

Variables with(Variables a, const Variables& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}

struct Expected {
  Variables variables;
  const char* by;
  int rank, world;
  std::optional<int> local_rank, local_world;
};

TEST(Launchers, EachRowOfTheTable) {
  for (const auto& [variables, by, rank, world, local_rank, local_world] :
       {Expected{kTorchrun, "torchrun", 5, 8, 1, 4},
        Expected{kOpenMpi, "Open MPI", 1, 2, 1, 2},
        Expected{kMpich, "MPICH", 1, 2, 1, 2}, Expected{kSlurm, "Slurm", 3, 4, 1, 2},
        Expected{kPyTorchJob, "PyTorchJob", 1, 3, {}, {}},
        Expected{kPlain, "the environment", 2, 3, {}, {}}}) {
    const auto found = launched_by(variables);
    ASSERT_TRUE(found) << by;
    EXPECT_EQ(found->by, by);
    EXPECT_EQ(found->rank, rank) << by;
    EXPECT_EQ(found->world, world) << by;
    EXPECT_EQ(found->local_rank, local_rank) << by;
    EXPECT_EQ(found->local_world, local_world) << by;
  }
  EXPECT_FALSE(launched_by({}));
  EXPECT_FALSE(launched_by({{"RANK", "0"}})) << "env:// names what is missing";
}

/// sbatch runs its script with the variables of task 0, but of no step.
TEST(Launchers, ABatchScriptIsNotATask) {
  Variables batch = kSlurm;
  batch.erase("SLURM_STEP_ID");
  EXPECT_FALSE(launched_by(batch));
}

TEST(Launchers, TheInnermostCounts) {
  EXPECT_EQ(launched_by(with(kTorchrun, kSlurm))->by, "torchrun");
  EXPECT_EQ(launched_by(with(kTorchrun, kOpenMpi))->rank, 5);
  EXPECT_EQ(launched_by(with(kOpenMpi, kSlurm))->by, "Open MPI");
  // Slurm's own PMI, as with srun --mpi=pmi2.
  const auto pmi = launched_by(with(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}));
  EXPECT_EQ(pmi->rank, 3);
}

TEST(Launchers, TwoThatDisagreeAreAnError) {
  expect_error([] { launched_by(with(kSlurm, {{"RANK", "0"}, {"WORLD_SIZE", "4"}})); },
               "Slurm says that this is process 3 of 4 (SLURM_PROCID, "
               "SLURM_STEP_NUM_TASKS)",
               "the environment says 0 of 4 (RANK, WORLD_SIZE)",
               "fix: unset RANK and WORLD_SIZE");
  expect_error(
      [] { launched_by(with(kOpenMpi, {{"PMI_RANK", "0"}, {"PMI_SIZE", "8"}})); },
      "Open MPI says", "MPICH says 0 of 8");
  EXPECT_EQ(launched_by(with(kSlurm, {{"RANK", "3"}, {"WORLD_SIZE", "4"}}))->by,
            "Slurm");
}

TEST(Launchers, WrongVariablesAreNamed) {
  expect_error([] { launched_by(with(kMpich, {{"PMI_RANK", "1.5"}})); },
               "PMI_RANK is \"1.5\", expected an integer");
  expect_error([] { launched_by(with(kMpich, {{"PMI_RANK", "2"}})); },
               "PMI_RANK is 2, but PMI_SIZE is 2");
  expect_error([] { launched_by({{"PMI_RANK", "0"}}); },
               "PMI_RANK is set, but PMI_SIZE");
  expect_error([] { launched_by(with(kPlain, {{"WORLD_SIZE", "0"}})); },
               "WORLD_SIZE is 0");
}

std::string place(const Variables& variables) {
  return meeting_place(*launched_by(variables), "/run/x", "77 1234");
}

TEST(MeetingPlace, IsTheEnvironmentsIfItIsThere) {
  EXPECT_EQ(place(kPlain), "env://");
  EXPECT_EQ(place(kPyTorchJob), "env://");
  const Variables master{{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  EXPECT_EQ(place(with(kOpenMpi, master)), "env://");
  EXPECT_EQ(place(with(kSlurm, master)), "env://");
}

/// torchrun's agent listens on MASTER_PORT itself: nothing else can.
TEST(MeetingPlace, LeavesTheAgentsPortAlone) {
  const std::string there = place(kTorchrun);
  EXPECT_TRUE(there.starts_with("tcp://node0:2")) << there;
  EXPECT_FALSE(there.ends_with(":29500"));
  EXPECT_EQ(place(with(kTorchrun, {{"RANK", "0"}, {"LOCAL_RANK", "0"}})), there);
  EXPECT_NE(place(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "1"}})), there);
  EXPECT_EQ(place(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})),
            "env://");
  const std::string local = place(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}}));
  EXPECT_TRUE(local.starts_with("local:///run/x/")) << local;
}

TEST(MeetingPlace, OfOneMachineIsAFile) {
  EXPECT_TRUE(place(kMpich).starts_with("local:///run/x/"));
  EXPECT_TRUE(place(kOpenMpi).starts_with("local:///run/x/"));
  EXPECT_NE(place(kOpenMpi), place(with(kOpenMpi, {{"PMIX_NAMESPACE", "2"}})));
}

TEST(MeetingPlace, OfSeveralMachinesNeedsAnAddress) {
  const std::string there = place(kSlurm);
  EXPECT_TRUE(there.starts_with("tcp://n1:2")) << there;
  EXPECT_NE(place(with(kSlurm, {{"SLURM_JOB_ID", "4"}})), there);
  const Variables far{{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
  expect_error([&] { place(with(kOpenMpi, far)); },
               "Open MPI does not say on which machine rank 0 runs",
               "mpirun -x MASTER_ADDR=HOST");
  EXPECT_TRUE(place(with(with(kOpenMpi, far), {{"MASTER_ADDR", "fd00::1"}}))
                  .starts_with("tcp://[fd00::1]:2"));
}

TEST(Slurm, ListsOfHostsAndTasks) {
  EXPECT_EQ(first_host("n1"), "n1");
  EXPECT_EQ(first_host("login,n[1-2]"), "login");
  EXPECT_EQ(first_host("n[01-04,7],login"), "n01");
  EXPECT_EQ(first_host("rack[3,5]-ib"), "rack3-ib");
  EXPECT_EQ(first_host("n["), "");
  EXPECT_EQ(tasks_of_node("2(x3),1", 0), 2);
  EXPECT_EQ(tasks_of_node("2(x3),1", 3), 1);
  EXPECT_EQ(tasks_of_node("2(x3),1", 4), std::nullopt);
  EXPECT_EQ(tasks_of_node("4", 0), 4);
  EXPECT_EQ(tasks_of_node("x", 0), std::nullopt);
}

TEST(JobFolder, BelongsToThisUserAlone) {
  const std::string folder = job_folder();
  struct stat status{};
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077, 0u);
  EXPECT_EQ(job_folder(), folder);
}

/// All processes that a launcher starts have the variable, and their scripts' shells.
TEST(LauncherProcess, IsTheClosestAncestorWithoutTheVariable) {
  EXPECT_TRUE(launcher_process("LOCKSTEP_NO_SUCH_VARIABLE")
                  .starts_with(std::to_string(::getppid()) + " "));
}

}  // namespace
}  // namespace lockstep::distributed
