#include "experiments/log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <stdexcept>

namespace lockstep::experiments {
namespace {

/// The number after a word, and the next one, in parentheses: `Time 0.7 ( 0.8)`.
struct Meter {
  double now = 0, mean = 0;
};
std::optional<Meter> meter(const std::string& line, const char* word) {
  const size_t at = line.find(word);
  Meter found;
  if (at == line.npos) return std::nullopt;
  const char* numbers = line.c_str() + at + std::strlen(word);
  if (std::sscanf(numbers, " %lf ( %lf )", &found.now, &found.mean) != 2) return {};
  return found;
}

/// A damaged line may have any number: no iteration takes a year.
bool is_time(const Meter& meter) {
  const auto possible = [](double seconds) { return seconds >= 0 && seconds < 3e7; };
  return possible(meter.now) && possible(meter.mean);
}

std::optional<double> accuracy(const std::string& line, char place) {
  for (const char* word : {"Acc@", "Prec@"}) {
    const auto found = meter(line, (std::string(word) + place).c_str());
    if (found && found->mean >= 0 && found->mean <= 100) return found->mean;
  }
  return std::nullopt;
}

Iterations operator-(const Iterations& a, const Iterations& b) {
  return {a.count - b.count, a.seconds - b.seconds, a.data_seconds - b.data_seconds};
}
Iterations operator+(const Iterations& a, const Iterations& b) {
  return {a.count + b.count, a.seconds + b.seconds, a.data_seconds + b.data_seconds};
}

/// What one progress line says.
struct ProgressLine {
  int epoch = 0;
  long iteration = 0, of = 0;
  Meter time;
  std::optional<Meter> data;
  std::optional<double> loss, acc1;
};

std::optional<ProgressLine> progress_line(const std::string& whole) {
  const size_t at = whole.find("Epoch: [");
  if (at == whole.npos) return std::nullopt;
  const std::string line = whole.substr(at);
  ProgressLine read;
  if (std::sscanf(line.c_str(), "Epoch: [%7d][%9ld/%9ld]", &read.epoch, &read.iteration,
                  &read.of) != 3) {
    return std::nullopt;
  }
  const auto time = meter(line, "Time");
  const bool damaged = read.epoch < 0 || read.iteration < 0 || read.of < 1 ||
                       read.iteration > read.of || !time || !is_time(*time);
  if (damaged) return std::nullopt;
  read.time = *time;
  read.data = meter(line, "Data");
  if (read.data && !is_time(*read.data)) read.data.reset();
  if (const auto loss = meter(line, "Loss")) read.loss = loss->mean;
  read.acc1 = accuracy(line, '1');
  return read;
}

class Reader {
 public:
  void read(const std::string& line, bool is_first) {
    if (is_first && line.starts_with("$ ")) log_.command = line.substr(2);
    read_mode(line);
    read_gpu(line);
    if (const auto progress = progress_line(line)) take(*progress);
    read_evaluation(line);
  }

  Log take_log() {
    if (log_.how.empty() && !gpus_.empty()) {
      log_.how = fmt::format("GPU {}", fmt::join(gpus_, ", "));
    }
    return std::move(log_);
  }

 private:
  /// `=> mode dp, 4 devices (cpu:0 to cpu:3), batch …`, printed by lockstep.
  void read_mode(const std::string& line) {
    const size_t at = line.find("=> mode ");
    const size_t end = line.find(" (", at);
    if (at != line.npos && end != line.npos)
      log_.how = line.substr(at + 3, end - at - 3);
  }

  /// `Use GPU: 0 for training`, printed by each rank of main.py.
  void read_gpu(const std::string& line) {
    const size_t at = line.find("Use GPU: ");
    int gpu = 0;
    if (at == line.npos) return;
    if (std::sscanf(line.c_str() + at, "Use GPU: %4d for training", &gpu) == 1) {
      gpus_.insert(gpu);
    }
  }

  void take(const ProgressLine& line) {
    std::vector<EpochLog>& epochs = log_.epochs;
    // Today's main.py counts iterations from 1; its earlier versions and lockstep count
    // from 0.
    if (epochs.empty()) from_one_ = line.iteration == 1;
    const long done = from_one_ ? line.iteration : line.iteration + 1;
    const auto count = static_cast<double>(done);
    const Iterations all{done, line.time.mean * count,
                         line.data ? line.data->mean * count : std::nan("")};
    const bool behind = !epochs.empty() && line.epoch < epochs.back().epoch;
    if (behind || done < 1) return;  // from another rank: the example's ranks all print
    if (epochs.empty() || line.epoch > epochs.back().epoch) {
      epochs.emplace_back();
      epochs.back().epoch = line.epoch;
      epochs.back().planned = line.of;
    }
    EpochLog& now = epochs.back();
    if (all.count < now.all.count) return;  // likewise
    if (all.count == now.all.count) return take_of_another_rank(now, line, all);
    same_ = 1;
    now.times.push_back(line.time.now);
    now.last = all - now.all;
    before_ = now.all;
    if (now.all.count == 0) now.first = all;
    now.all = all;
    now.whole = all.count == line.of;
    now.loss = line.loss;
    now.acc1 = line.acc1;
  }

  /// Includes another rank's figures for the same iteration in their mean.
  void take_of_another_rank(EpochLog& now, const ProgressLine& line,
                            const Iterations& all) {
    log_.ranks = std::max(log_.ranks, ++same_);
    const auto add = [this](double& mean, double value) {
      mean += (value - mean) / same_;
    };
    const bool is_first = now.first.count == now.all.count;
    add(now.all.seconds, all.seconds);
    add(now.all.data_seconds, all.data_seconds);
    if (now.loss && line.loss) add(*now.loss, *line.loss);
    if (now.acc1 && line.acc1) add(*now.acc1, *line.acc1);
    if (is_first) now.first = now.all;
    now.last = now.all - before_;
  }

  void read_evaluation(const std::string& line) {
    const size_t at = line.find("* ");
    double acc1 = 0, acc5 = 0;
    if (at == line.npos || log_.epochs.empty()) return;
    const char* text = line.c_str() + at;
    const bool found = std::sscanf(text, "* Acc@1 %lf Acc@5 %lf", &acc1, &acc5) == 2 ||
                       std::sscanf(text, "* Prec@1 %lf Prec@5 %lf", &acc1, &acc5) == 2;
    const auto is_percentage = [](double x) { return x >= 0 && x <= 100; };
    if (!found || !is_percentage(acc1) || !is_percentage(acc5)) return;
    log_.epochs.back().test_acc1 = acc1;
    log_.epochs.back().test_acc5 = acc5;
  }

  Log log_;
  bool from_one_ = false;
  int same_ = 1;  // ranks that have printed the newest iteration
  Iterations before_;
  std::set<int> gpus_;
};

}  // namespace

Iterations Log::counted(bool short_last) const {
  Iterations sum;
  for (const EpochLog& epoch : epochs) {
    const bool first = &epoch == &epochs.front();
    Iterations part = first ? epoch.all - epoch.first : epoch.all;
    if (short_last && epoch.whole && part.count >= epoch.last.count) {
      part = part - epoch.last;
    }
    sum = sum + part;
  }
  return sum;
}

std::optional<std::pair<double, double>> Log::spread(bool short_last) const {
  std::vector<double> times;
  for (const EpochLog& epoch : epochs) {
    auto begin = epoch.times.begin(), end = epoch.times.end();
    if (&epoch == &epochs.front() && begin != end) ++begin;
    if (short_last && epoch.whole && begin != end) --end;
    times.insert(times.end(), begin, end);
  }
  if (times.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return std::pair{*least, *most};
}

int64_t Log::iterations() const {
  int64_t count = 0;
  for (const EpochLog& epoch : epochs) count += epoch.all.count;
  return count;
}

std::optional<double> Log::epoch_seconds() const {
  double sum = 0;
  for (const EpochLog& epoch : epochs) {
    if (epoch.all.count < 1 || epoch.planned < 1) return std::nullopt;
    sum += epoch.all.seconds / static_cast<double>(epoch.all.count) *
           static_cast<double>(epoch.planned);
  }
  if (epochs.empty()) return std::nullopt;
  return sum / static_cast<double>(epochs.size());
}

Log read_log(std::istream& lines) {
  Reader reader;
  bool first = true;
  for (std::string line; std::getline(lines, line); first = false) {
    reader.read(line, first);
  }
  return reader.take_log();
}

Log read_log_file(const std::string& path, const std::string& fix) {
  std::ifstream file(path);
  std::error_code none;
  if (!file || std::filesystem::is_directory(path, none)) {
    throw std::runtime_error(path + ": cannot be read");
  }
  Log log = read_log(file);
  if (log.epochs.empty()) {
    throw std::runtime_error(
        path + ": no progress lines found (Epoch: [0][0/…] Time …); fix: " + fix);
  }
  return log;
}

}  // namespace lockstep::experiments
