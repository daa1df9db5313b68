#include "experiments/batch_size.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <tuple>

namespace lockstep::experiments {
namespace {

using tracer::Json;

std::string recipe_in_words(const BatchSizeRun& run) {
  switch (run.recipe) {
    case Recipe::scaled:
      return "scaled rate";
    case Recipe::warmed:
      return "scaled, warm-up";
    default:
      return "constant rate";
  }
}

}  // namespace

std::vector<BatchSizeFigures> figures(const std::vector<BatchSizeResult>& results) {
  std::vector<BatchSizeFigures> all;
  for (const BatchSizeResult& result : results) {
    const EpochLog& last = result.log.epochs.back();
    if (!last.test_acc1 || !last.acc1) {
      throw std::runtime_error(
          result.run.name +
          ".log: no evaluation (* Acc@1 …) at the end; fix: delete the file to rerun");
    }
    BatchSizeFigures f;
    f.train = *last.acc1;
    f.test = *last.test_acc1;
    f.gap = f.train - f.test;
    f.behind = (all.empty() ? f.test : all.front().test) - f.test;
    for (const EpochLog& epoch : result.log.epochs) f.seconds += epoch.all.seconds;
    const Iterations counted = result.log.counted(result.short_last);
    if (counted.count > 0) {
      f.mean = counted.seconds / static_cast<double>(counted.count);
    }
    if (const auto spread = result.log.spread(result.short_last)) {
      std::tie(f.least, f.most) = *spread;
    }
    all.push_back(f);
  }
  return all;
}

Rows batch_size_rows(const std::vector<BatchSizeResult>& results) {
  Rows rows{{"log", "learning rate", "batch", "lr", "iterations", "train Acc@1",
             "test Acc@1", "gap", "behind", "seconds", "s/iteration", "least", "most",
             "forward", "backward"}};
  const auto seconds = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3f}", *value) : "–";
  };
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const BatchSizeRun& run = results[i].run;
    rows.push_back(
        {run.name, recipe_in_words(run), fmt::to_string(run.batch),
         fmt::format("{:g}", run.lr), fmt::to_string(results[i].log.iterations()),
         fmt::format("{:.2f}", all[i].train), fmt::format("{:.2f}", all[i].test),
         fmt::format("{:.2f}", all[i].gap),
         i == 0 ? "–" : fmt::format("{:.2f}", all[i].behind),
         fmt::format("{:.0f}", all[i].seconds), seconds(all[i].mean),
         seconds(all[i].least), seconds(all[i].most),
         share_cell(results[i].measured.forward),
         share_cell(results[i].measured.backward)});
  }
  return rows;
}

Json batch_size_json(const std::vector<BatchSizeResult>& results,
                     const std::vector<std::string>& notes) {
  const auto json = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json runs = Json::array();
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const BatchSizeRun& run = results[i].run;
    Json epochs = Json::array();
    for (const EpochLog& epoch : results[i].log.epochs) {
      epochs.push_back({{"epoch", epoch.epoch},
                        {"train_acc1", json(epoch.acc1)},
                        {"train_loss", json(epoch.loss)},
                        {"test_acc1", epoch.test_acc1.value_or(0)}});
    }
    runs.push_back({{"log", run.name + ".log"},
                    {"command", results[i].log.command},
                    {"batch", run.batch},
                    {"learning_rate", name(run.recipe)},
                    {"lr", run.lr},
                    {"iterations", results[i].log.iterations()},
                    {"train_acc1", all[i].train},
                    {"test_acc1", all[i].test},
                    {"gap", all[i].gap},
                    {"behind_smallest_batch", all[i].behind},
                    {"seconds", all[i].seconds},
                    {"seconds_per_iteration", json(all[i].mean)},
                    {"shortest_iteration", json(all[i].least)},
                    {"longest_iteration", json(all[i].most)},
                    {"forward_share", json(results[i].measured.forward)},
                    {"backward_share", json(results[i].measured.backward)},
                    {"epochs", epochs}});
  }
  return {{"experiment", "batch-size"}, {"notes", notes}, {"runs", runs}};
}

namespace {

/// Writes a block of `epoch train test` per run; two empty lines end a block.
std::string curves(const std::vector<BatchSizeResult>& results) {
  std::string rows;
  for (const BatchSizeResult& result : results) {
    for (const EpochLog& epoch : result.log.epochs) {
      rows += fmt::format("{} {} {}\n", epoch.epoch + 1, epoch.acc1.value_or(0),
                          epoch.test_acc1.value_or(0));
    }
    rows += "\n\n";
  }
  return rows;
}

/// Writes a block of `batch gap test` per recipe, starting with the smallest batch.
std::string gaps(const std::vector<BatchSizeResult>& results) {
  const auto all = figures(results);
  std::string rows;
  for (const Recipe recipe : {Recipe::constant, Recipe::scaled, Recipe::warmed}) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (i > 0 && results[i].run.recipe != recipe) continue;
      rows += fmt::format("{} {:.3f} {:.3f}\n", results[i].run.batch, all[i].gap,
                          all[i].test);
    }
    rows += "\n\n";
  }
  return rows;
}

}  // namespace

Plot batch_size_plot(const std::vector<BatchSizeResult>& results,
                     const std::string& title) {
  std::vector<std::string> labels, batches, recipes;
  std::map<int64_t, size_t> number_of;  // key: batch; numbers start at 1
  for (const BatchSizeResult& result : results) {
    const BatchSizeRun& run = result.run;
    const size_t number =
        number_of.try_emplace(run.batch, number_of.size() + 1).first->second;
    labels.push_back(quoted(fmt::format("{}, {}", run.batch, recipe_in_words(run))));
    batches.push_back(fmt::to_string(number));
    recipes.push_back(fmt::to_string(static_cast<int>(run.recipe) + 1));
  }
  Plot plot{"batch_size.gp", 1080, 820, title, ""};
  plot.data = fmt::format("runs = {}\n", results.size()) + array("label", labels) +
              array("batch", batches) + array("recipe", recipes) +
              data_block("curves", curves(results)) + data_block("gaps", gaps(results));
  return plot;
}

}  // namespace lockstep::experiments
