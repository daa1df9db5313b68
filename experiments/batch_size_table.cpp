#include "experiments/batch_size_table.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

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
    if (!last.test_acc1) {
      throw std::runtime_error(result.run.name +
                               ".log: no evaluation (* Acc@1 …) at its end; remove it, "
                               "and the run is repeated");
    }
    BatchSizeFigures f;
    f.train = last.acc1;
    f.test = *last.test_acc1;
    f.gap = f.train - f.test;
    f.behind = (all.empty() ? f.test : all.front().test) - f.test;
    for (const EpochLog& epoch : result.log.epochs) f.seconds += epoch.all.seconds;
    all.push_back(f);
  }
  return all;
}

Rows batch_size_rows(const std::vector<BatchSizeResult>& results) {
  Rows rows{{"log", "learning rate", "batch", "lr", "iterations", "train Acc@1",
             "test Acc@1", "gap", "behind", "seconds"}};
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const BatchSizeRun& run = results[i].run;
    rows.push_back(
        {run.name, recipe_in_words(run), fmt::to_string(run.batch),
         fmt::format("{:g}", run.lr), fmt::to_string(results[i].log.iterations()),
         fmt::format("{:.2f}", all[i].train), fmt::format("{:.2f}", all[i].test),
         fmt::format("{:.2f}", all[i].gap),
         i == 0 ? "–" : fmt::format("{:.2f}", all[i].behind),
         fmt::format("{:.0f}", all[i].seconds)});
  }
  return rows;
}

Json batch_size_json(const std::vector<BatchSizeResult>& results,
                     const std::vector<std::string>& notes) {
  Json runs = Json::array();
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const BatchSizeRun& run = results[i].run;
    Json epochs = Json::array();
    for (const EpochLog& epoch : results[i].log.epochs) {
      epochs.push_back({{"epoch", epoch.epoch},
                        {"train_acc1", epoch.acc1},
                        {"train_loss", epoch.loss},
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
                    {"epochs", epochs}});
  }
  return {{"experiment", "batch-size"}, {"notes", notes}, {"runs", runs}};
}

namespace {

/// Blocks of `epoch train test`, one a run, for gnuplot's `index`.
std::string curves(const std::vector<BatchSizeResult>& results) {
  std::string data = "$curves << EOD\n";
  for (const BatchSizeResult& result : results) {
    for (const EpochLog& epoch : result.log.epochs) {
      data += fmt::format("{} {} {}\n", epoch.epoch + 1, epoch.acc1,
                          epoch.test_acc1.value_or(0));
    }
    data += "\n\n";
  }
  return data + "EOD\n";
}

/// Blocks of `batch gap behind`, one a recipe; each begins with the smallest batch.
std::string gaps(const std::vector<BatchSizeResult>& results,
                 const std::vector<BatchSizeFigures>& all) {
  std::string data = "$gaps << EOD\n";
  for (const Recipe recipe : {Recipe::constant, Recipe::scaled, Recipe::warmed}) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (i > 0 && results[i].run.recipe != recipe) continue;
      data += fmt::format("{} {:.3f} {:.3f}\n", results[i].run.batch, all[i].gap,
                          all[i].test);
    }
    data += "\n\n";
  }
  return data + "EOD\n";
}

}  // namespace

Plot batch_size_plot(const std::vector<BatchSizeResult>& results,
                     const std::string& title) {
  // A batch's colour, from light to dark; a recipe's dashes.
  const std::vector<std::string> colours{"#8FB8F6", "#2F6FDE", "#0B2E6F", "#F2A33A",
                                         "#B4552D"};
  const std::map<Recipe, int> dashes{
      {Recipe::constant, 1}, {Recipe::scaled, 2}, {Recipe::warmed, 4}};
  std::map<int64_t, std::string> colour_of;
  for (const auto& result : results) {
    colour_of.try_emplace(result.run.batch, colours[colour_of.size() % colours.size()]);
  }
  const auto lines = [&](int column) {
    std::string text;
    for (size_t i = 0; i < results.size(); ++i) {
      const BatchSizeRun& run = results[i].run;
      text += fmt::format(
          "{}$curves index {} using 1:{} with lines linewidth 2 dashtype {} linecolor "
          "rgb '{}' title {}",
          i ? ", " : "plot ", i, column, dashes.at(run.recipe), colour_of[run.batch],
          quoted(fmt::format("{}, {}", run.batch, recipe_in_words(run))));
    }
    return text + "\n";
  };
  const auto points = [](int column) {
    std::string text = "plot ";
    const char* names[] = {"constant rate", "scaled rate", "scaled, warm-up"};
    const char* colours[] = {"#8A93A3", "#2F6FDE", "#F2A33A"};
    for (int i = 0; i < 3; ++i) {
      text += fmt::format(
          "{}$gaps index {} using 1:{}:xtic(1) with linespoints pointtype {} linewidth "
          "2 linecolor rgb '{}' title '{}'",
          i ? ", " : "", i, column,
          i == 0   ? 7
          : i == 1 ? 5
                   : 9,
          colours[i], names[i]);
    }
    return text + "\n";
  };
  Plot plot;
  plot.width = 1080;
  plot.height = 820;
  plot.commands =
      curves(results) + gaps(results, figures(results)) +
      fmt::format("set multiplot layout 2,2 title {} font ',13' noenhanced\n",
                  quoted(title)) +
      "set xlabel 'epochs'\nset yrange [0:100]\n"
      "set title 'training Acc@1, % (each epoch''s batches as they were trained)'\n"
      "unset key\n" +
      lines(2) +
      "set title 'test Acc@1, %'\n"
      "set key top left Left reverse opaque font ',9'\n" +
      lines(3) +
      "set xlabel 'batch'\nset logscale x 2\nset offsets graph 0.05, graph 0.05, graph "
      "0.1, graph 0.1\nunset yrange\nset yrange [*:*]\nset key top left\n"
      "set title 'training minus test Acc@1 at the end, points'\n" +
      points(2) + "set title 'test Acc@1 at the end, %'\nset key bottom left\n" +
      points(3) + "unset multiplot\n";
  return plot;
}

}  // namespace lockstep::experiments
