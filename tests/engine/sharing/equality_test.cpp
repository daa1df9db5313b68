// The equality matrix: which ways of sharing the work train the same, with which nets.
#include "tests/engine/sharing/equality.h"

#include "tests/engine/sharing/hybrid_way.h"
#include "tests/engine/sharing/pipeline_ways.h"
#include "tests/engine/sharing/worker_ways.h"

namespace lockstep {
namespace {

using plan::PipelineOrder;
using sharing::Consistency;
using sharing::LockFor;
using sharing::UpdateBy;
using test::by_accumulating;
using test::by_model_parallel;
using test::Column;
using test::kAlways;
using test::kBatchNorm;
using test::kDropout;
using test::kNothing;
using test::kUneven;
using test::Problem;
using test::Row;
using test::Way;

nn::ModulePtr vgg() { return test::make_small_vgg(false, 0.0); }
nn::ModulePtr vgg_bn() { return test::make_small_vgg(true, 0.0); }
nn::ModulePtr vgg_dropout() { return test::make_small_vgg(false, 0.5); }
nn::ModulePtr vgg_all() { return test::make_small_vgg(true, 0.5); }

const std::vector<Column>& columns() {
  static const std::vector<int64_t> even{12, 12}, uneven{12, 11};
  static const std::vector<int64_t> image{2, 8, 8};
  static const std::vector<std::string> of_toy{"2", "4", "6"}, of_resnet{"1", "2", "4"},
      of_vgg{"features.1", "features.3", "classifier"};
  const auto toy = test::make_pipeline_toy;
  const auto resnet = test::make_small_resnet;
  static const std::vector<Column> all{
      {"toy", kNothing, {toy, {5}, 3, even, of_toy}},
      {"toy u", kUneven, {toy, {5}, 3, uneven, of_toy}},
      {"resnet", kBatchNorm, {resnet, image, 3, even, of_resnet}},
      {"resnet u", kBatchNorm | kUneven, {resnet, image, 3, uneven, of_resnet}},
      {"vgg", kNothing, {vgg, image, 3, even, of_vgg}, true},
      {"vgg u", kUneven, {vgg, image, 3, uneven, of_vgg}, true},
      {"vgg d", kDropout, {vgg_dropout, image, 3, even, of_vgg}, true},
      {"vgg bn", kBatchNorm, {vgg_bn, image, 3, even, of_vgg}, true},
      {"vgg bdu",
       kBatchNorm | kDropout | kUneven,
       {vgg_all, image, 3, uneven, of_vgg},
       true},
  };
  return all;
}

std::vector<Row> of_data_parallel() {
  constexpr unsigned kSplit = kBatchNorm | kDropout;
  return {
      {"dp", "single", test::by_data_parallel, test::by_one_device, kSplit,
       "each replica normalizes its own chunk, and draws its own dropout masks"},
      {"ddp", "single", test::by_ddp, test::by_one_device, kSplit | kUneven,
       "as dp; and each rank counts equally, whatever its number of samples"},
      {"ddp", "dp", test::by_ddp, test::by_data_parallel, kUneven,
       "dp's loss is the mean over the batch, ddp's the mean of the ranks' means"},
      {"dp-criterion", "dp", test::by_criterion, test::by_data_parallel, kUneven,
       "dp-criterion's loss is the mean of the chunks' means"},
      {"dp-criterion", "ddp", test::by_criterion, test::by_ddp, kNothing, ""},
      {"loss-in-forward", "dp-criterion", test::by_loss_in_forward, test::by_criterion,
       kNothing, "", true},
      {"local-sgd H=1", "ddp", test::by_local_sgd(1), test::by_ddp, kNothing, ""},
      {"local-sgd H=2", "ddp", test::by_local_sgd(2), test::by_ddp, kAlways,
       "between two averages the ranks' weights differ"},
  };
}

std::vector<Row> of_model_parallel() {
  const char* const why =
      "a device has its own dropout masks; and micro-batches count by their rows";
  const auto one_f_one_b = [](int m) {
    return by_model_parallel(PipelineOrder::one_f_one_b, m, m);
  };
  const unsigned breaks = kDropout | kUneven;
  return {
      {"naive pipeline", "single", test::by_naive_model_parallel(), test::by_one_device,
       kDropout, "a device has its own dropout masks", true},
      {"1f1b M=2", "accumulate 2", one_f_one_b(2), by_accumulating(2), breaks, why,
       true},
      {"1f1b M=3", "accumulate 3", one_f_one_b(3), by_accumulating(3), breaks, why,
       true},
      {"1f1b M=4", "accumulate 4", one_f_one_b(4), by_accumulating(4), breaks, why,
       true},
      {"gpipe M=4", "1f1b M=4", by_model_parallel(PipelineOrder::gpipe, 4, 4),
       one_f_one_b(4), kNothing, "", true},
      {"interleaved M=4", "accumulate 4",
       by_model_parallel(PipelineOrder::interleaved, 2, 4, 2), by_accumulating(4),
       breaks, why, true},
      {"1f1b M=4", "single", one_f_one_b(4), test::by_one_device, kBatchNorm | kDropout,
       "each micro-batch is normalized by itself, and has its own dropout masks"},
  };
}

std::vector<Row> of_features() {
  const auto dp_features = [](int devices) -> Way {
    return [=](const Problem& p) { return test::by_dp_features(p, devices); };
  };
  const char* const masks =
      "the classifier, on another device, has other dropout masks";
  const char* const split = "each replica normalizes its own chunk; and ";
  static const std::string both = std::string(split) + masks;
  return {
      {"dp-features", "single", dp_features(4), test::by_one_device, kBatchNorm,
       "each replica normalizes its own chunk", false, true},
      {"hybrid", "single", test::by_hybrid, test::by_one_device, kBatchNorm | kDropout,
       both.c_str(), false, true},
      {"hybrid", "dp-features on 3", test::by_hybrid, dp_features(3), kDropout, masks,
       false, true},
  };
}

std::vector<Row> of_workers() {
  using test::in_turn;
  const auto lock = [](LockFor what) {
    return test::shared_memory(UpdateBy::store, what);
  };
  const auto add = test::shared_memory(UpdateBy::fetch_add, LockFor::nothing);
  const auto hogwild = lock(LockFor::nothing);
  const auto async = test::parameter_servers(2, Consistency::async);
  const auto sync = test::parameter_servers(2, Consistency::sync);
  const Way hogwild_in_turn = test::by_workers(in_turn(hogwild, false));
  const Way async_in_turn = test::by_workers(in_turn(async, false));
  const char* const dropout = "each device has its own dropout masks";
  const char* const stale =
      "gradients of weights that other workers have changed meanwhile";
  const auto alone = [](const char* name, const test::MakeShare& make) {
    return Row{name, "single", test::by_one_worker(make), test::by_one_device, kNothing,
               "",   true};
  };
  const auto order = std::make_shared<test::Order>();
  return {
      alone("locked N=1", lock(LockFor::update)),
      alone("hogwild N=1", hogwild),
      alone("hogwild N=1 add", add),
      alone("ps async N=1", async),
      {"ps sync", "ddp", test::by_workers(sync), test::by_ddp, kNothing, ""},
      {"locked step", "in that order",
       [order](const Problem& p) { return test::by_lock_for_step(p, *order); },
       [order](const Problem& p) { return test::one_by_one(p, *order, true); },
       kDropout, dropout, true},
      {"hogwild turns", "one by one", hogwild_in_turn, test::by_taking_turns(true),
       kDropout, dropout, true},
      {"ps async turns", "one by one m", async_in_turn, test::by_taking_turns(false),
       kDropout, dropout, true},
      {"ps async turns", "hogwild turns", async_in_turn, hogwild_in_turn, kAlways,
       "servers have one momentum, workers with shared memory have one each"},
      {"hogwild stale", "hogwild turns", test::by_workers(in_turn(hogwild, true)),
       hogwild_in_turn, kAlways, stale},
      {"ps async stale", "ps async turns", test::by_workers(in_turn(async, true)),
       async_in_turn, kAlways, stale},
  };
}

TEST(EqualityMatrix, IsTheCommittedTable) {
  std::vector<Row> rows;
  for (const auto& group :
       {of_data_parallel(), of_model_parallel(), of_features(), of_workers()}) {
    rows.insert(rows.end(), group.begin(), group.end());
  }
  test::expect_committed("equality.txt", test::table(columns(), rows));
}

}  // namespace
}  // namespace lockstep
