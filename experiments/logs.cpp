#include "experiments/logs.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "run/environment.h"
#include "run/printable.h"

namespace lockstep::experiments {
namespace {

using tracer::Json;

constexpr char kNotInLog[] = "unknown";

std::string known(const std::optional<double>& number, const char* format) {
  return number ? fmt::format(fmt::runtime(format), *number) : kNotInLog;
}

std::string how_of(const Log& log) {
  std::string how = log.how.empty() ? kNotInLog : run::printable(log.how);
  if (log.ranks > 1) how += fmt::format(", {} ranks", log.ranks);
  return how;
}

/// The figures of a log that the study's table does not have.
struct LogFigures {
  std::optional<double> epoch_seconds, loss, acc1;
};

LogFigures log_figures(const Log& log) {
  const EpochLog& last = log.epochs.back();
  return {log.epoch_seconds(), last.loss, last.acc1};
}

int64_t batch_given(const LogOptions& o, size_t file) {
  if (o.batches.empty()) return 0;
  return o.batches[o.batches.size() == 1 ? 0 : file];
}

ImageNetResult read_result(const LogOptions& o, size_t file) {
  ImageNetResult result;
  result.log = read_log_file(o.files[file],
                             "name a log of lockstep train or of the ImageNet "
                             "example's main.py");
  const int64_t given = batch_given(o, file);
  result.run.batch = given > 0 ? given : batch_of(result.log);
  result.run.name = std::filesystem::path(o.files[file]).stem().string();
  result.run.how = how_of(result.log);
  return result;
}

constexpr char kNotes[] =
    "- s/iteration: mean over all iterations except the first; least and most: the "
    "shortest and the\n  longest that have a progress line; s/epoch: extrapolated from "
    "the logged iterations\n"
    "- speed-up: in images per second, over the first log; without a batch size (-b) "
    "it is unknown\n"
    "- loss, train: means over the training batches of the last epoch; Acc@1, Acc@5: "
    "on "
    "the test set\n";

}  // namespace

int64_t batch_of(const Log& log) {
  if (log.command.empty()) return 0;
  std::istringstream words(log.command);
  int64_t batch = 256;
  for (std::string word; words >> word;) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string flag = word.substr(0, equals);
    const bool is_long =
        flag.size() > 2 && std::string("--batch-size").starts_with(flag);
    const bool joined = word.size() > 2 && word.starts_with("-b");  // -b256, -b=256
    if (word != "-b" && !joined && !is_long) continue;
    std::string text = joined ? word.substr(2 + (word[2] == '=')) : "";
    if (is_long && equals < word.size()) text = word.substr(equals + 1);
    if (text.empty()) words >> text;
    long long number = 0;
    const bool read = std::sscanf(text.c_str(), "%12lld", &number) == 1;
    batch = read && number > 0 ? number : 0;
  }
  return batch;
}

Rows log_rows(const std::vector<ImageNetResult>& results) {
  Rows rows{{"log", "how", "batch", "epochs", "iterations", "s/iteration", "least",
             "most", "of which data", "s/epoch", "images/s", "speed-up", "loss",
             "train Acc@1", "Acc@1", "Acc@5"}};
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& [run, log, short_last, emulated, measured] = results[i];
    const ImageNetFigures& f = all[i];
    const LogFigures more = log_figures(log);
    rows.push_back(
        {run.name, run.how, run.batch > 0 ? fmt::to_string(run.batch) : kNotInLog,
         fmt::to_string(log.epochs.size()), fmt::to_string(log.iterations()),
         known(f.seconds, "{:.3f}"), known(f.least, "{:.3f}"), known(f.most, "{:.3f}"),
         known(f.data_seconds, "{:.3f}"), known(more.epoch_seconds, "{:.1f}"),
         known(f.images_per_second, "{:.1f}"), known(f.speedup, "{:.3f}x"),
         known(more.loss, "{:.4f}"), known(more.acc1, "{:.2f}"),
         known(f.acc1, "{:.2f}"), known(f.acc5, "{:.2f}")});
  }
  return rows;
}

Json log_json(const std::vector<ImageNetResult>& results) {
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  Json logs = Json::array();
  const auto all = figures(results);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& [run, log, short_last, emulated, measured] = results[i];
    const ImageNetFigures& f = all[i];
    const LogFigures more = log_figures(log);
    logs.push_back({{"log", run.name},
                    {"how", log.how.empty() ? Json() : Json(run::printable(log.how))},
                    {"ranks", log.ranks},
                    {"command", run::printable(log.command)},
                    {"batch", run.batch > 0 ? Json(run.batch) : Json()},
                    {"epochs", log.epochs.size()},
                    {"iterations", log.iterations()},
                    {"seconds_per_iteration", number(f.seconds)},
                    {"shortest_iteration", number(f.least)},
                    {"longest_iteration", number(f.most)},
                    {"data_seconds_per_iteration", number(f.data_seconds)},
                    {"seconds_per_epoch", number(more.epoch_seconds)},
                    {"images_per_second", number(f.images_per_second)},
                    {"speedup", number(f.speedup)},
                    {"loss", number(more.loss)},
                    {"train_acc1", number(more.acc1)},
                    {"acc1", number(f.acc1)},
                    {"acc5", number(f.acc5)}});
  }
  return {{"logs", logs}};
}

int print_logs(const LogOptions& o) {
  if (o.batches.size() > 1 && o.batches.size() != o.files.size()) {
    throw run::UsageError(
        fmt::format("-b has {} batch sizes for {} logs; fix: give one for all, or one "
                    "for each",
                    o.batches.size(), o.files.size()));
  }
  std::vector<ImageNetResult> results;
  for (size_t file = 0; file < o.files.size(); ++file) {
    results.push_back(read_result(o, file));
  }
  if (o.json) {
    fmt::print("{}\n",
               log_json(results).dump(1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{}\n{}", as_text(log_rows(results)), kNotes);
  }
  return 0;
}

}  // namespace lockstep::experiments
