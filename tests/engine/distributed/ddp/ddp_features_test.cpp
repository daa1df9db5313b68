// DistributedDataParallel's features on small nets, against PyTorch's results.
// sanitize: address thread
#include "engine/distributed/ddp/join.h"
#include "engine/optim/sgd.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep {
namespace {

using distributed::DdpOptions;
using distributed::DistributedDataParallel;
using test::Batch;
using test::Json;
using test::Rank;

constexpr double kTolerance = 1e-9;

nn::ModulePtr make_two_linears() { return std::make_shared<test::TwoLinears>(); }

/// A rank's golden model in double, before it is wrapped.
nn::ModulePtr model_of(const Rank& rank, nn::ModulePtr (*make)()) {
  const nn::ModulePtr model = test::in_double(make);
  test::only_rank_0_knows(*model, rank);
  model->to(rank.device);
  return model;
}

/// Compares all values of the tensors named in `golden`; null means that the tensor is
/// undefined.
template <typename Get>
void expect_values(const nn::Module& model, const Json& golden, Get get,
                   const std::string& where) {
  for (const auto& [name, parameter] : model.named_parameters()) {
    const Tensor mine = get(parameter);
    const Json& theirs = golden.at(name);
    EXPECT_EQ(mine.defined(), !theirs.is_null()) << name << ", " << where;
    if (!mine.defined() || theirs.is_null()) continue;
    const std::vector<double> values = test::values_of(mine);
    ASSERT_EQ(values.size(), theirs.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], theirs[i], kTolerance) << name << ", " << where;
    }
  }
}

Tensor gradient(const Tensor& parameter) { return parameter.grad(); }
Tensor value(const Tensor& parameter) { return parameter; }

std::string at(const Rank& rank, size_t step) {
  return "rank " + std::to_string(rank.rank) + ", step " + std::to_string(step);
}

// --- no_sync

void expect_accumulation(const Json& golden, const std::string& net, Rank& rank) {
  const Json& expected = golden["nets"][net];
  const int count = golden["micro_batches"];
  const auto model =
      model_of(rank, net == "toy" ? test::make_toy : test::make_small_net);
  DistributedDataParallel ddp(model, rank.group);
  const Batch mine =
      Batch::golden(golden["batch"], expected["image"], expected["classes"])
          .share(rank);
  const int64_t rows = mine.images.size(0) / count;
  bool rebuilt = false;
  for (int round = 0; round < 2; ++round) {
    for (const Tensor& parameter : model->parameters()) parameter.set_grad({});
    for (int micro = 0; micro < count; ++micro) {
      const std::string where = net + ", " + at(rank, round * count + micro);
      const Batch part = mine.rows(micro * rows, rows).on(rank.device);
      std::optional<DistributedDataParallel::NoSync> no_sync;
      if (micro + 1 < count) no_sync.emplace(ddp);
      runtime::context(rank.device).synchronize();
      const int64_t calls = rank.group->last_call().first;
      const Tensor output = ddp(part.images);
      runtime::context(rank.device).synchronize();
      rebuilt |= rank.group->last_call().first > calls;  // rank 0's order was broadcast
      EXPECT_EQ(rebuilt, expected["rebuilt"][round][micro].get<bool>()) << where;
      const Tensor loss =
          ops::scale(ops::cross_entropy(output, part.labels), 1.0 / count);
      EXPECT_NEAR(ops::item(loss), expected["losses"][rank.rank][micro], kTolerance);
      loss.backward();
      for (const auto& [name, parameter] : model->named_parameters()) {
        const Json& digest = no_sync
                                 ? expected["local_gradients"][rank.rank][micro][name]
                                 : expected["gradients"][name];
        test::expect_fingerprint(name, parameter.grad(), digest, kTolerance);
      }
    }
  }
}

TEST(DdpNoSync, AccumulatesAloneAndSynchronisesTheSum) {
  const Json golden = test::read_golden("ddp_no_sync.json");
  for (const char* net : {"toy", "small"}) {
    test::on_ranks({golden["ranks"]},
                   [&](Rank& rank) { expect_accumulation(golden, net, rank); });
  }
}

// It does not matter whether backward runs inside the no_sync scope.
TEST(DdpNoSync, IsDecidedByTheForwardPass) {
  test::on_ranks({2}, [](Rank& rank) {
    const nn::ModulePtr model = model_of(rank, test::make_toy);
    test::Launched seen;
    DdpOptions options;
    options.reducer.comm_hook = test::watching(seen);
    DistributedDataParallel ddp(model, rank.group, options);
    const Batch mine = Batch::golden(12, {5}, 2).share(rank).on(rank.device);
    const auto forward = [&](bool alone) {
      std::optional<DistributedDataParallel::NoSync> no_sync;
      if (alone) no_sync.emplace(ddp);
      return ops::cross_entropy(ddp(mine.images), mine.labels);
    };
    for (int round = 0; round < 2; ++round) {
      seen = {};
      forward(true).backward();
      EXPECT_EQ(seen.bytes.size(), 0u) << at(rank, round);
      const Tensor loss = forward(false);
      const DistributedDataParallel::NoSync too_late = ddp.no_sync();
      loss.backward();
      EXPECT_EQ(seen.bytes.size(), 1u) << at(rank, round);
    }
  });
}

// --- join

TEST(DdpJoin, UnevenInputsEndAndEqualPyTorchs) {
  const Json golden = test::read_golden("ddp_join.json");
  const int64_t rows = golden["rows"];
  for (const Json& mode : golden["modes"]) {
    test::on_ranks({golden["ranks"]}, [&](Rank& rank) {
      const nn::ModulePtr model = model_of(rank, test::make_toy);
      DistributedDataParallel ddp(model, rank.group);
      const Batch mine = Batch::golden(7 * rows * rank.size, {5}, 2).share(rank);
      optim::Sgd sgd(model->named_parameters(), {golden["sgd"]["lr"], 0.9, 1e-4});
      distributed::Join join(ddp, mode["divide_by_initial_world_size"]);
      for (int64_t i = 0; i < golden["batches"][rank.rank]; ++i) {
        const Json& expected = mode["steps"][rank.rank][i];
        const Batch part = mine.rows(i * rows, rows).on(rank.device);
        sgd.zero_grad();
        const Tensor loss = ops::cross_entropy(ddp(part.images), part.labels);
        loss.backward();
        sgd.step();
        EXPECT_NEAR(ops::item(loss), expected["loss"], kTolerance) << at(rank, i);
        expect_values(*model, expected["gradients"], gradient, at(rank, i));
        expect_values(*model, expected["parameters"], value, at(rank, i));
      }
      join.finish();
      expect_values(*model, mode["final"], value, at(rank, 99));
    });
  }
}

// --- unused parameters

TEST(DdpUnused, RanksThatSkipAParameterContributeZeros) {
  const Json golden = test::read_golden("ddp_unused.json");
  const std::vector<std::string> names = golden["parameter_names"];
  for (const char* way : {"cleared", "kept"}) {
    test::on_ranks({golden["ranks"]}, [&](Rank& rank) {
      const Json& expected = golden[way];
      const nn::ModulePtr model = model_of(rank, make_two_linears);
      DdpOptions options;
      options.reducer.find_unused_parameters = true;
      DistributedDataParallel ddp(model, rank.group, options);
      const Batch mine =
          Batch::golden(golden["batch"], {5}, 2).share(rank).on(rank.device);
      for (size_t step = 0; step < golden["uses_second"].size(); ++step) {
        if (way == std::string("cleared")) {
          for (const Tensor& parameter : model->parameters()) parameter.set_grad({});
        }
        auto& net = dynamic_cast<test::TwoLinears&>(*model);
        net.uses_second = golden["uses_second"][step][rank.rank];
        const Tensor loss = ops::cross_entropy(ddp(mine.images), mine.labels);
        loss.backward();
        const Json& theirs = expected["steps"][rank.rank][step];
        EXPECT_NEAR(ops::item(loss), theirs["loss"], kTolerance) << at(rank, step);
        expect_values(*model, theirs["gradients"], gradient, way + at(rank, step));
      }
    });
  }
}

TEST(DdpUnused, WithoutLookingForThemTheNextForwardComplains) {
  const Json golden = test::read_golden("ddp_unused.json");
  test::on_ranks({golden["ranks"]}, [&](Rank& rank) {
    const nn::ModulePtr model = model_of(rank, make_two_linears);
    DistributedDataParallel ddp(model, rank.group);
    const Batch mine =
        Batch::golden(golden["batch"], {5}, 2).share(rank).on(rank.device);
    dynamic_cast<test::TwoLinears&>(*model).uses_second = false;
    ops::cross_entropy(ddp(mine.images), mine.labels).backward();
    expect_values(*model, golden["error"]["gradients"][rank.rank], gradient,
                  at(rank, 0));
    const std::string message = test::message_of([&] { ddp(mine.images); });
    const std::string theirs = golden["error"]["message"][rank.rank];
    const std::string sentence = theirs.substr(0, theirs.find(" You can enable"));
    EXPECT_EQ(message.substr(0, sentence.size() - 1),
              sentence.substr(0, sentence.size() - 1));
    EXPECT_NE(message.find("second.weight, second.bias"), message.npos) << message;
    EXPECT_NE(message.find("rank " + std::to_string(rank.rank)), message.npos);
  });
}

// --- the scale of the loss

TEST(DdpLossScale, AMeanIsTheWholeBatchsAndASumIsDividedByTheRanks) {
  const Json golden = test::read_golden("ddp_loss_scale.json");
  for (const bool mean : {true, false}) {
    const Json& expected = golden[mean ? "mean" : "sum"];
    test::on_ranks({golden["ranks"]}, [&](Rank& rank) {
      const nn::ModulePtr model = model_of(rank, test::make_toy);
      DistributedDataParallel ddp(model, rank.group);
      const Batch mine =
          Batch::golden(golden["batch"], {5}, 2).share(rank).on(rank.device);
      const Tensor loss =
          ops::cross_entropy(ddp(mine.images), mine.labels,
                             mean ? ops::Reduction::mean : ops::Reduction::sum);
      loss.backward();
      EXPECT_NEAR(ops::item(loss), expected["losses"][rank.rank], kTolerance);
      expect_values(*model, expected["gradients"], gradient, at(rank, 0));
    });
  }
}

}  // namespace
}  // namespace lockstep
