// `--mode hogwild` and `--mode locked`: what a run records, and that `trace check`
// notices what is wrong; which options cannot be combined.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "engine/data/safetensors.h"
#include "engine/runtime/device_context.h"
#include "run/train.h"
#include "tracer/analysis/check.h"
#include "tracer/analysis/summary.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"
#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep::run {
namespace {

namespace fs = std::filesystem;
namespace keys = tracer::keys;
using tracer::Event;
using tracer::Trace;

RunConfig shared_config(train::Mode mode, int workers = 3) {
  RunConfig config;
  config.mode = mode;
  config.model.arch = "toy";
  config.device.type = DeviceType::reference;
  config.device.count = workers;
  config.data.kind = DataKind::random;
  config.data.length = 96;
  config.data.workers = 0;
  config.recipe.batch_size = 4L * workers;
  config.recipe.epochs = 1;
  config.output.quiet = true;
  return config;
}

fs::path temporary_file(const char* name) {
  return fs::temp_directory_path() /
         ("lockstep-shared-" + std::to_string(::getpid()) + "-" + name);
}

/// By default, eight steps of each worker, of which four are recorded, and the
/// evaluation.
Trace recorded_run(RunConfig config, const char* steps = "2:6") {
  const fs::path file = temporary_file("trace.json");
  config.output.trace = file;
  config.output.trace_steps = steps;
  Trace trace;
  EXPECT_EQ(run_training(config, &trace), 0);
  fs::remove(file);
  return trace;
}

/// The laws that a trace violates, with messages.
std::set<std::string> violated_laws(const Trace& trace) {
  std::set<std::string> laws;
  for (const tracer::Finding& finding : tracer::check_trace(trace).findings) {
    if (finding.ok || finding.law == "sources-present") continue;  // tests embed none
    laws.insert(finding.law + ": " + finding.message);
  }
  return laws;
}

std::set<std::string> laws_of(const std::set<std::string>& broken) {
  std::set<std::string> names;
  for (const std::string& law : broken) names.insert(law.substr(0, law.find(':')));
  return names;
}

TEST(SharedRuns, ObeyTheirLaws) {
  for (const auto mode : {train::Mode::hogwild, train::Mode::locked}) {
    for (const auto lock : {sharing::LockFor::step, sharing::LockFor::update}) {
      RunConfig config = shared_config(mode);
      config.shared.lock = lock;
      const Trace trace = recorded_run(config);
      EXPECT_EQ(violated_laws(trace), std::set<std::string>{});
      const tracer::Staleness staleness = tracer::staleness_of(trace);
      EXPECT_EQ(staleness.updates, 3 * 4) << "of three workers";
      EXPECT_EQ(staleness.workers, 3);
      if (mode != train::Mode::locked) continue;
      EXPECT_EQ(staleness.lost, 0);
      if (lock == sharing::LockFor::step) {
        EXPECT_EQ(tracer::mean_staleness(staleness.histogram), 0);
      }
    }
  }
}

TEST(SharedRuns, MoveTheBytesOfParametersAndBuffersOnDevicesThatComputeNothing) {
  RunConfig config = shared_config(train::Mode::hogwild, 2);
  config.device.type = DeviceType::null;
  config.model.arch = "resnet18";
  config.data.kind = DataKind::generated;
  config.data.length = 48;
  config.steps = 6;
  const Trace trace = recorded_run(config);
  EXPECT_EQ(violated_laws(trace), std::set<std::string>{});
  const tracer::Staleness staleness = tracer::staleness_of(trace);
  EXPECT_EQ(staleness.updates, 2 * 4);
  EXPECT_EQ(staleness.lost, tracer::kNone) << "unknown, not 0";
  EXPECT_NE(tracer::staleness_text(staleness).find("lost updates: unknown"),
            std::string::npos);
}

/// Applies `change` to the first event that `is` accepts.
template <typename Is, typename Change>
Trace changed_copy(const Trace& whole, Is is, Change change) {
  Trace trace = whole;
  for (Event& event : trace.events) {
    if (!is(event)) continue;
    change(event);
    return trace;
  }
  ADD_FAILURE() << "there is no such event";
  return trace;
}

bool is_update(const Event& event) {
  return event.is("phase") && event.args.contains(keys::version);
}

TEST(SharedRuns, CheckRejectsImpossibleVersions) {
  const Trace trace = recorded_run(shared_config(train::Mode::hogwild));
  int64_t last = 0;
  for (const Event& event : trace.events) {
    if (is_update(event)) last = std::max(last, int_arg(event.args, keys::version));
  }
  const auto is_last = [&](const Event& event) {
    return is_update(event) && int_arg(event.args, keys::version) == last;
  };
  const auto laws = [&](const char* key, int64_t value) {
    return laws_of(violated_laws(
        changed_copy(trace, is_last, [&](Event& event) { event.args[key] = value; })));
  };
  using Laws = std::set<std::string>;
  EXPECT_EQ(laws(keys::version, last - 1), Laws{"update-versions"}) << "made twice";
  EXPECT_EQ(laws(keys::version, last + 1), Laws{"update-versions"}) << "one is missing";
  EXPECT_EQ(laws(keys::read_version, last), Laws{"update-versions"}) << "not earlier";
  EXPECT_EQ(laws(keys::read_version, 1), Laws{"own-updates-read"});
  EXPECT_EQ(laws(keys::worker, 7), Laws{"update-versions"}) << "another rank's lane";
}

TEST(SharedRuns, CheckRejectsWrongBytes) {
  const Trace trace = recorded_run(shared_config(train::Mode::hogwild));
  for (const auto& [why, law] :
       {std::pair{"pull", "pull-bytes"}, {"push", "push-bytes"}}) {
    const auto is = [&](const Event& event) {
      return event.is("copy") && tracer::copy_facts(event).why == why;
    };
    const Trace less = changed_copy(trace, is, [](Event& event) {
      event.args["bytes"] = 4;
      event.args["shape"] = {1};
    });
    EXPECT_EQ(laws_of(violated_laws(less)), std::set<std::string>{law});
  }
}

TEST(SharedRuns, CheckRejectsWhatALockForbids) {
  const Trace trace = recorded_run(shared_config(train::Mode::locked));
  const auto laws = [&](auto is, auto change) {
    return laws_of(violated_laws(changed_copy(trace, is, change)));
  };
  using Laws = std::set<std::string>;
  EXPECT_EQ(laws(is_update, [](Event& event) { event.args[keys::lost_updates] = 1; }),
            Laws{"lock-loses-nothing"});
  int64_t first = INT64_MAX, end = 0;
  for (const Event& event : trace.events) {
    if (is_update(event)) first = std::min(first, int_arg(event.args, keys::version));
    if (event.name == tracer::names::update_shared) end = std::max(end, event.end());
  }
  const auto later = [&](const Event& event) {
    return is_update(event) && int_arg(event.args, keys::version) > first;
  };
  EXPECT_TRUE(laws(later, [](Event& event) {
                event.args[keys::read_version] =
                    int_arg(event.args, keys::read_version) - 1;
              }).contains("lock-staleness"));
  const auto changes = [](const Event& event) {
    return event.name == tracer::names::update_shared;
  };
  EXPECT_TRUE(laws(changes, [&](Event& event) {
                event.dur = end - event.ts;
              }).contains("lock-exclusive"));
}

TEST(SharedRuns, AWaitForTheLockNamesTheHoldersUpdate) {
  RunConfig config = shared_config(train::Mode::locked);
  config.data.length = 12 * 160;  // so many steps that some do wait
  const Trace trace = recorded_run(config, "2:120");
  std::map<int64_t, const Event*> by_id;
  for (const Event& event : trace.events) by_id[event.id] = &event;
  int waits = 0;
  for (const Event& event : trace.events) {
    if (!event.is("sync") || string_arg(event.args, keys::why) != "lock") continue;
    for (const int64_t id : event.waits_for) {
      ++waits;
      EXPECT_EQ(by_id.at(id)->name, tracer::names::update_shared);
    }
  }
  EXPECT_GT(waits, 0) << "three workers hold the lock for most of their time";
}

TEST(SharedRuns, SummarySaysAtLeastHowManyUpdatesWereLost) {
  tracer::Staleness all{.updates = 2, .workers = 2, .histogram = {{0, 1}, {1, 1}}};
  const auto says = [&](int64_t lost, const char* words) {
    all.lost = lost;
    return tracer::staleness_text(all).find(words) != std::string::npos;
  };
  EXPECT_TRUE(
      says(3, "staleness 0.50 on average · at least 3 element updates lost in "));
  EXPECT_TRUE(says(1, "at least 1 element update lost in these steps\n"));
  EXPECT_TRUE(says(0, "no update lost in these steps\n"));
  EXPECT_TRUE(says(tracer::kNone, "lost updates: unknown\n"));
}

TEST(SharedRuns, SummaryShowsStaleness) {
  const tracer::Summary summary =
      tracer::summarize(recorded_run(shared_config(train::Mode::locked)));
  EXPECT_NE(tracer::summary_text(summary).find(
                "shared model · 12 updates by 3 workers · "
                "staleness 0.00 on average · no update lost in "),
            std::string::npos);
  EXPECT_EQ(tracer::summary_json(summary)["shared_model"]["histogram"]["0"], 12);
  RunConfig ddp = shared_config(train::Mode::ddp);
  const tracer::Summary other = tracer::summarize(recorded_run(ddp));
  EXPECT_EQ(tracer::summary_text(other).find("shared model"), std::string::npos);
  EXPECT_FALSE(tracer::summary_json(other).contains("shared_model"));
}

/// Trains up to `epochs`, after those of the checkpoint in `folder`, if there is one.
/// Returns the new checkpoint's tensors.
std::vector<data::TensorFileEntry> trained(RunConfig config, const fs::path& folder,
                                           int epochs) {
  const fs::path file = folder / "checkpoint.safetensors";
  config.checkpoint.folder = folder;
  if (fs::exists(file)) config.checkpoint.resume = file;
  config.recipe.epochs = epochs;
  config.given.insert("--epochs");
  EXPECT_EQ(run_training(config), 0);
  return data::read_safetensors(file);
}

TEST(SharedRuns, CheckpointsOfOneWorkerAreThoseOfOneRankOfDdp) {
  const fs::path ddp = temporary_file("ddp"), shared = temporary_file("resumed");
  const auto expected = trained(shared_config(train::Mode::ddp, 1), ddp, 2);
  for (const auto mode : {train::Mode::hogwild, train::Mode::locked}) {
    const RunConfig config = shared_config(mode, 1);
    const auto first = trained(config, shared, 1);
    EXPECT_NE(first, expected);
    EXPECT_EQ(trained(config, shared, 2), expected) << "after resuming";
    fs::remove_all(shared);
  }
  fs::remove_all(ddp);
}

TEST(SharedRuns, SeveralWorkersResumeAndEvaluate) {
  const fs::path folder = temporary_file("checkpoints");
  RunConfig config = shared_config(train::Mode::hogwild, 2);
  const auto first = trained(config, folder, 1), second = trained(config, folder, 2);
  EXPECT_EQ(first.size(), second.size());
  EXPECT_NE(first, second);
  config.checkpoint.resume = folder / "checkpoint.safetensors";
  config.evaluate = true;
  config.output.summary = temporary_file("summary.json");
  EXPECT_EQ(run_training(config), 0);
  EXPECT_TRUE(fs::exists(config.output.summary));
  fs::remove(config.output.summary);
  fs::remove_all(folder);
}

TEST(SharedRuns, EachWorkerHasAPartOfTheDataOrAll) {
  RunConfig config = shared_config(train::Mode::hogwild);
  const DataSets data = open_data(config);
  RankPlace place{1, 3, 1, 3};
  place.group = std::make_shared<distributed::ProcessGroup>(nullptr);
  EXPECT_EQ(train_loader(config, data, place)->size(), 96 / 12);
  EXPECT_EQ(images_per_epoch(config, data, place), 96);
  EXPECT_EQ(planned_steps(config, data, place), 96 / 12 + 96 / 12);
  EXPECT_EQ(update_batch(config, place), 4);
  config.shared.partition = Partition::all;
  EXPECT_EQ(train_loader(config, data, place)->size(), 96 / 4);
  EXPECT_EQ(images_per_epoch(config, data, place), 3 * 96);
  EXPECT_EQ(planned_steps(config, data, place), 96 / 4 + 96 / 12);
  config.mode = train::Mode::ddp;
  EXPECT_EQ(train_loader(config, data, place)->size(), 96 / 12) << "not DDP's";
  EXPECT_EQ(update_batch(config, place), 12);
}

/// One of the samples cannot be loaded, which ends the rank that needs it.
class OneBadSample : public data::Dataset {
 public:
  explicit OneBadSample(std::shared_ptr<const data::Dataset> all)
      : all_(std::move(all)) {}
  int64_t size() const override { return all_->size(); }
  std::vector<int64_t> sample_shape() const override { return all_->sample_shape(); }
  int64_t classes() const override { return all_->classes(); }
  int64_t get(int64_t index, data::Draws& draws,
              std::span<float> image) const override {
    if (index == 50) throw data::BadSample("sample 50 is damaged");
    return all_->get(index, draws, image);
  }

 private:
  const std::shared_ptr<const data::Dataset> all_;
};

/// Streams still run what the ranks enqueued, and record it.
void forget_the_recording() {
  tracer::stop_recording();
  for (int i = 0; i < 3; ++i) {
    runtime::context(Device{DeviceType::reference, i}).synchronize();
  }
  tracer::collect();
}

TEST(SharedRuns, OneRankThatFailsEndsAllAndIsTheOneReported) {
  for (const auto mode : {train::Mode::hogwild, train::Mode::locked}) {
    for (const bool traces : {false, true}) {
      RunConfig config = shared_config(mode);
      const fs::path file = temporary_file("failed.json");
      if (traces) config.output.trace = file;
      DataSets data = open_data(config);
      data.train = std::make_shared<OneBadSample>(data.train);
      std::string error;
      try {
        train_in_threads(config, data, nullptr);
      } catch (const std::exception& failure) {
        error = failure.what();
      }
      EXPECT_NE(error.find("sample 50 is damaged"), std::string::npos) << error;
      fs::remove(file);
      forget_the_recording();  // the process would end here
    }
  }
}

std::string refusal_of(const RunConfig& config) {
  try {
    validate(config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(SharedRuns, RejectWhatCannotBeCombined) {
  RunConfig config = shared_config(train::Mode::hogwild);
  EXPECT_EQ(refusal_of(config), "");
  config.distributed.multiprocessing = true;
  EXPECT_EQ(refusal_of(config), "") << "processes map the same memory";
  config = shared_config(train::Mode::hogwild);
  config.given.insert("--lock");
  EXPECT_EQ(
      refusal_of(config),
      "--lock has no effect on --mode hogwild; fix: omit it, or use --mode locked");
  config = shared_config(train::Mode::locked);
  config.given.insert("--update");
  EXPECT_EQ(refusal_of(config),
            "--update has no effect on --mode locked; fix: omit it, or use --mode "
            "hogwild");
  config = shared_config(train::Mode::locked);
  config.recipe.accumulate = 2;
  EXPECT_EQ(refusal_of(config),
            "--lock step holds the lock for one batch, but --accumulate updates the "
            "weights after several; fix: omit it, or use --lock update");
  config.shared.lock = sharing::LockFor::update;
  EXPECT_EQ(refusal_of(config), "");
}

}  // namespace
}  // namespace lockstep::run
