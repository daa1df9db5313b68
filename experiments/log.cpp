#include "experiments/log.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <istream>
#include <stdexcept>

namespace lockstep::experiments {
namespace {

/// Parses the number after `word`, and the next in parentheses: `Time 0.7 ( 0.8)`.
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

std::optional<Meter> accuracy(const std::string& line, char place) {
  for (const char* word : {"Acc@", "Prec@"}) {
    if (const auto found = meter(line, (std::string(word) + place).c_str())) {
      return found;
    }
  }
  return std::nullopt;
}

Iterations operator-(const Iterations& a, const Iterations& b) {
  return {a.count - b.count, a.seconds - b.seconds, a.data_seconds - b.data_seconds};
}
Iterations operator+(const Iterations& a, const Iterations& b) {
  return {a.count + b.count, a.seconds + b.seconds, a.data_seconds + b.data_seconds};
}

/// `from_one` is set at the first line: today's main.py counts iterations from 1, its
/// former versions and lockstep from 0.
void read_iteration(const std::string& line, std::vector<EpochLog>& epochs,
                    bool& from_one) {
  int epoch = 0;
  long iteration = 0, of = 0;
  if (std::sscanf(line.c_str(), "Epoch: [%d][%ld/%ld]", &epoch, &iteration, &of) != 3) {
    return;
  }
  const auto time = meter(line, "Time");
  if (!time || iteration < 0) return;
  if (epochs.empty()) from_one = iteration == 1;
  const long done = from_one ? iteration : iteration + 1;
  const Meter data = meter(line, "Data").value_or(Meter{});
  const auto count = static_cast<double>(done);
  const Iterations all{done, time->mean * count, data.mean * count};
  const bool behind = !epochs.empty() && epoch < epochs.back().epoch;
  if (behind) return;  // from another rank: the example's all print
  if (epochs.empty() || epoch > epochs.back().epoch) {
    epochs.emplace_back();
    epochs.back().epoch = epoch;
    epochs.back().first = all;
  }
  EpochLog& now = epochs.back();
  if (all.count < now.all.count) return;  // likewise
  if (all.count > now.all.count) now.last = all - now.all;
  now.all = all;
  now.whole = all.count == of;
  now.loss = meter(line, "Loss").value_or(Meter{}).mean;
  now.acc1 = accuracy(line, '1').value_or(Meter{}).mean;
}

void read_evaluation(const std::string& line, std::vector<EpochLog>& epochs) {
  double acc1 = 0, acc5 = 0;
  if (epochs.empty() ||
      (std::sscanf(line.c_str(), " * Acc@1 %lf Acc@5 %lf", &acc1, &acc5) != 2 &&
       std::sscanf(line.c_str(), " * Prec@1 %lf Prec@5 %lf", &acc1, &acc5) != 2)) {
    return;
  }
  epochs.back().test_acc1 = acc1;
  epochs.back().test_acc5 = acc5;
}

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

int64_t Log::iterations() const {
  int64_t count = 0;
  for (const EpochLog& epoch : epochs) count += epoch.all.count;
  return count;
}

Log read_log(std::istream& lines) {
  Log log;
  bool first = true, from_one = false;
  for (std::string line; std::getline(lines, line); first = false) {
    if (first && line.starts_with("$ ")) log.command = line.substr(2);
    read_iteration(line, log.epochs, from_one);
    read_evaluation(line, log.epochs);
  }
  return log;
}

Log read_log_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  Log log = read_log(file);
  if (log.epochs.empty()) {
    throw std::runtime_error(path +
                             ": no progress lines found (Epoch: [0][0/…] Time …); fix: "
                             "delete the file to rerun");
  }
  return log;
}

}  // namespace lockstep::experiments
