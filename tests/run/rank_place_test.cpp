#include "run/rank_place.h"

#include <gtest/gtest.h>

#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/ring.h"
#include "run/environment.h"

namespace lockstep::run {
namespace {

RunConfig started_with(std::map<std::string, std::string> variables) {
  RunConfig config;
  config.environment.variables = std::move(variables);
  return config;
}

TEST(RankOfProcess, WithoutVariablesAndFlagsThereAreNoRanks) {
  EXPECT_FALSE(rank_of_process(RunConfig{}));
  EXPECT_EQ(mode_of(RunConfig{}), train::Mode::dp);
}

TEST(RankOfProcess, ALaunchedRankKnowsItsPlace) {
  const RunConfig config = started_with({{"LOCKSTEP_RANK", "3"},
                                         {"LOCKSTEP_WORLD", "8"},
                                         {"LOCKSTEP_LOCAL_RANK", "1"},
                                         {"LOCKSTEP_LOCAL_WORLD", "2"},
                                         {"LOCKSTEP_INIT", "tcp://a:1"}});
  const auto place = rank_of_process(config);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->world, 8);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->local_world, 2);
  EXPECT_EQ(place->init, "tcp://a:1");
  EXPECT_TRUE(place->is_process);
  EXPECT_FALSE(place->main());
  EXPECT_EQ(mode_of(config), train::Mode::ddp);
}

TEST(RankOfProcess, VariablesOfAPlaceNameThatPlace) {
  RankPlace place{2, 4, 1, 3, true, "file:///x"};
  const auto again = rank_of_process(started_with(variables_of(place)));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rank, place.rank);
  EXPECT_EQ(again->world, place.world);
  EXPECT_EQ(again->local_rank, place.local_rank);
  EXPECT_EQ(again->local_world, place.local_world);
  EXPECT_EQ(again->init, place.init);
}

TEST(RankOfProcess, TorchrunsVariablesCountWithEnvOnly) {
  RunConfig config = started_with({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  config.distributed.url = "env://";
  const auto place = rank_of_process(config);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->world, 2);
  EXPECT_EQ(mode_of(config), train::Mode::ddp);
}

TEST(RankOfProcess, FlagsNameARankThatWasStartedByHand) {
  RunConfig config;
  config.distributed.world_size = 4;
  config.distributed.rank = 2;
  config.distributed.url = "tcp://a:1";
  const auto place = rank_of_process(config);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 2);
  EXPECT_EQ(place->world, 4);
  EXPECT_EQ(place->local_world, 1);
  config.distributed.multiprocessing = true;  // then rank and size count nodes
  EXPECT_FALSE(rank_of_process(config));
}

const std::map<std::string, std::string> kMpi{{"OMPI_COMM_WORLD_RANK", "1"},
                                              {"OMPI_COMM_WORLD_SIZE", "2"},
                                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};

TEST(RankOfProcess, ALaunchersRankIsUsedWithADistUrl) {
  RunConfig config = started_with(kMpi);
  for (const char* url : {"env://", "tcp://a:1"}) {
    config.distributed.url = url;
    const auto place = rank_of_process(config);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->rank, 1);
    EXPECT_EQ(place->world, 2);
    EXPECT_EQ(place->local_rank, 1);
    EXPECT_EQ(place->local_world, 2);
    EXPECT_EQ(place->launcher, "Open MPI");
    EXPECT_EQ(mode_of(config), train::Mode::ddp);
  }
}

template <typename Error, typename Act>
void expect_message(Act act, const std::string& part) {
  try {
    act();
    ADD_FAILURE() << "nothing was thrown, instead of: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(RankOfProcess, OneOfSeveralThatWouldTrainAloneIsAnError) {
  expect_message<UsageError>([] { rank_of_process(started_with(kMpi)); },
                             "Open MPI started 2 processes (OMPI_COMM_WORLD_SIZE=2)");
  expect_message<UsageError>(
      [] { rank_of_process(started_with({{"RANK", "1"}, {"WORLD_SIZE", "2"}})); },
      "fix: add --dist-url env://");
  EXPECT_FALSE(rank_of_process(started_with({{"RANK", "0"}, {"WORLD_SIZE", "1"}})));
}

TEST(RankOfProcess, ABatchScriptIsNoTaskOfSlurm) {
  RunConfig config = started_with({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}});
  config.distributed.url = "env://";
  expect_message<UsageError>([&] { rank_of_process(config); },
                             "fix: start it with srun");
  config.distributed.multiprocessing = true;
  expect_message<UsageError>([&] { node_of_process(config); },
                             "fix: start it with srun");
  config.environment.variables["MASTER_ADDR"] = "a";
  expect_message<std::runtime_error>([&] { node_of_process(config); }, "is not set");
}

TEST(RankOfProcess, FlagsMustAgreeWithTheLauncher) {
  RunConfig config = started_with(kMpi);
  config.distributed.url = "tcp://a:1";
  config.distributed.world_size = 2;
  EXPECT_EQ(rank_of_process(config)->rank, 1);
  config.distributed.rank = 0;
  expect_message<std::runtime_error>([&] { rank_of_process(config); },
                                     "started this process as number 1 of 2, but the "
                                     "options say --rank 0 --world-size 2; fix: omit");
  config.distributed.world_size = -1;
  expect_message<std::runtime_error>([&] { rank_of_process(config); },
                                     "the options say --rank 0; fix: omit");
}

TEST(RankOfProcess, ARankWithoutAWorldIsAnError) {
  RunConfig config;
  config.distributed.url = "tcp://a:1";
  config.distributed.rank = 0;
  EXPECT_FALSE(rank_of_process(config)) << "main.py's example for one node";
  config.distributed.rank = 1;
  expect_message<UsageError>([&] { rank_of_process(config); }, "fix: add --world-size");
}

TEST(RankOfProcess, AWorldWithoutARankIsAnError) {
  RunConfig config;
  config.distributed.world_size = 2;
  config.distributed.url = "tcp://a:1";
  expect_message<UsageError>([&] { rank_of_process(config); },
                             "which of them is this? fix: add --rank, from 0 to 1");
  config.distributed.multiprocessing = true;
  expect_message<UsageError>([&] { node_of_process(config); }, "fix: add --rank");
}

TEST(NodeOfProcess, RankAndWorldSizeAreNodes) {
  RunConfig config = started_with({{"RANK", "1"}, {"WORLD_SIZE", "3"}});
  config.distributed.multiprocessing = true;
  config.distributed.url = "env://";
  const NodePlace node = node_of_process(config);
  EXPECT_EQ(node.node, 1);
  EXPECT_EQ(node.nodes, 3);
  EXPECT_EQ(node.init, "env://");
  EXPECT_EQ(node_of_process(RunConfig{}).nodes, 1);
  RunConfig many = started_with(kMpi);
  many.distributed = config.distributed;
  expect_message<UsageError>([&] { node_of_process(many); },
                             "Open MPI started 2 processes on this node");
}

TEST(RankOfProcess, AVariableThatIsNoNumberIsNamed) {
  const RunConfig config = started_with({{"LOCKSTEP_RANK", "1.5"}});
  try {
    rank_of_process(config);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("LOCKSTEP_RANK is \"1.5\""),
              std::string::npos);
  }
  EXPECT_EQ(started_with({{"RANK", ""}}).environment.number("RANK", 7), 7);
}

TEST(Environment, TheCommandLineLeavesTheProgramOut) {
  Environment environment;
  EXPECT_EQ(environment.command_line(), "");
  environment.arguments = {"/usr/bin/lockstep", "train", "-b", "8"};
  EXPECT_EQ(environment.command_line(), "train -b 8");
}

RankPlace in_group(int world, int local_world) {
  RankPlace place{0, world, 0, local_world};
  const auto hub = std::make_shared<distributed::LocalHub>(1);
  place.group =
      std::make_shared<distributed::ProcessGroup>(std::make_unique<distributed::Ring>(
          std::make_unique<distributed::LocalTransport>(hub, 0, Milliseconds(1000)), 0,
          1, "default"));
  return place;
}

TEST(RankBatch, ANodesBatchIsSharedByItsRanksAndRoundedDown) {
  RunConfig config;
  config.recipe.batch_size = 256;
  EXPECT_EQ(global_batch(config, {}), 256);
  EXPECT_EQ(rank_batch(config, in_group(6, 3)), 85);
  EXPECT_EQ(global_batch(config, in_group(6, 3)), 6 * 85);
  config.recipe.batch_size = 2;
  EXPECT_THROW(rank_batch(config, in_group(3, 3)), UsageError);
}

}  // namespace
}  // namespace lockstep::run
