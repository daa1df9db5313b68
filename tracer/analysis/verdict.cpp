#include "tracer/analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/units.h"
#include "tracer/analysis/speedup.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

namespace {

/// Steps that differ by less take the same time.
constexpr double kSame = 0.02;
/// Causes below this share of a step are not named.
constexpr double kCause = 0.05;

int64_t batch_of(const Summary& run) {
  return run.train.steps.empty() ? 0 : run.train.steps.front().batch;
}

bool comparable(const std::vector<const Summary*>& runs) {
  return runs.size() > 1 &&
         std::all_of(runs.begin(), runs.end(), [&](const Summary* run) {
           const Summary& first = *runs.front();
           return !run->null_devices && !run->imported && run->rank == kNone &&
                  !run->arch.empty() && run->arch == first.arch &&
                  run->clock == first.clock && batch_of(*run) == batch_of(first) &&
                  run->train.mean_length() > 0;
         });
}

std::string kind_of(const Summary& run) {
  if (run.devices == 1) return "one device";
  if (run.mode == "dp") return "DataParallel";
  if (run.mode == "dp-features") return "DataParallel of the features";
  if (run.mode == "dp-criterion") return "DataParallelModel";
  if (run.mode == "local-sgd") return "local SGD";
  return run.mode == "ddp" ? "DDP" : run.mode;
}

/// Returns the run's kind, with its number if another run is of the same kind.
std::string name_of(const Summary& run, const std::vector<const Summary*>& runs) {
  const std::string kind = kind_of(run);
  const auto same = std::count_if(runs.begin(), runs.end(), [&](const Summary* other) {
    return kind_of(*other) == kind;
  });
  if (same < 2) return kind;
  const auto place = std::find(runs.begin(), runs.end(), &run) - runs.begin();
  return fmt::format("{} (trace {})", kind, place + 1);
}

double part_of_step(const Split& split, Spent spent) {
  const auto whole = static_cast<double>(split.spent.sum());
  return whole > 0 ? static_cast<double>(split.spent[spent]) / whole : 0;
}

/// Returns what the slower run spends its devices' time on, per device and step, more
/// than the faster one; "" if nothing stands out.
std::string more_time(const Summary& fast, const Summary& slow,
                      const std::string& name) {
  const Split a = fast.train.mean_split(), b = slow.train.mean_split();
  if (!a.known || !b.known || a.devices.size() != b.devices.size()) return {};
  const auto devices = static_cast<int64_t>(a.devices.size());
  size_t most = 0;
  int64_t difference = 0;
  for (size_t i = 0; i < kSpents; ++i) {
    const int64_t more = (b.spent.times[i] - a.spent.times[i]) / devices;
    if (more > difference) most = i, difference = more;
  }
  if (static_cast<double>(difference) < kCause * static_cast<double>(b.step)) return {};
  return fmt::format("a device of {} spends {} more per step ({})", name,
                     human_time(difference), words_of(static_cast<Spent>(most)).name);
}

/// Returns what keeps the slower run's devices from computing; "" if nothing stands
/// out.
std::string instead_of_computing(const Summary& slow, const std::string& name) {
  const Split split = slow.train.mean_split();
  if (!split.known || slow.devices < 2) return {};
  size_t most = static_cast<size_t>(Spent::core);
  for (size_t i = most; i < kSpents; ++i) {
    if (split.spent.times[i] > split.spent.times[most]) most = i;
  }
  const double part = part_of_step(split, static_cast<Spent>(most));
  if (part < 2 * kCause) return {};
  return fmt::format("`{}` takes {} of the time of the devices of {}",
                     words_of(static_cast<Spent>(most)).name, percent(part), name);
}

std::string cause(const Summary& fast, const Summary& slow, const std::string& name) {
  const double hidden = hidden_reduction(fast.train);
  if (slow.mode.starts_with("dp") && slow.devices > 1 && hidden >= kCause) {
    return fmt::format("{} of the reduction is hidden behind backward",
                       percent(hidden));
  }
  const std::string more = more_time(fast, slow, name);
  return more.empty() ? instead_of_computing(slow, name) : more;
}

}  // namespace

double hidden_reduction(const StepGroup& group) {
  double took = 0, hidden = 0;
  for (const auto* step : group.warm()) {
    for (const CollectiveTime& time : step->collectives) {
      if (time.bucket == kNone) continue;
      took += static_cast<double>(time.took);
      hidden += static_cast<double>(time.backward);
    }
  }
  return took > 0 ? hidden / took : 0;
}

std::string faster_words(int64_t first, int64_t other) {
  const double ratio = static_cast<double>(first) / static_cast<double>(other);
  const double factor = std::max(ratio, 1 / ratio);
  if (factor < 1.005) return "the same";
  const std::string times = factor >= 1000  ? ">999"
                            : factor >= 100 ? fmt::format("{:.0f}", factor)
                            : factor >= 2   ? fmt::format("{:.1f}", factor)
                                            : fmt::format("{:.2f}", factor);
  return fmt::format("{}x {}", times, ratio > 1 ? "faster" : "slower");
}

std::string verdict_sentence(const std::vector<const Summary*>& runs) {
  if (!comparable(runs)) return {};
  if (std::any_of(runs.begin(), runs.end(),
                  [](auto* run) { return is_disturbed(*run); })) {
    return "No verdict: other programs used the cores while these traces were "
           "recorded, so the times below hold for these steps only.";
  }
  std::vector<const Summary*> order = runs;
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->train.mean_length() < b->train.mean_length();
  });
  const Summary& best = *order.front();
  const int64_t step = best.train.mean_length();
  std::string text, equals;
  const Summary* next = nullptr;  // the fastest of those that are slower
  for (size_t i = 1; i < order.size(); ++i) {
    const int64_t other = order[i]->train.mean_length();
    const std::string name = name_of(*order[i], runs);
    if (static_cast<double>(other) < (1 + kSame) * static_cast<double>(step)) {
      equals += " and " + name;
      continue;
    }
    if (next == nullptr) next = order[i];
    text +=
        fmt::format("{}{} as {}", text.empty() ? "" : ", ", as_fast(other, step), name);
  }
  std::string subject = name_of(best, runs) + equals;
  subject[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(subject[0])));
  if (next == nullptr) return subject + " take the same time.";
  std::string why;
  for (const Summary* slow : order) {
    const bool slower = slow->train.mean_length() >= next->train.mean_length();
    if (why.empty() && slower && equals.empty()) {
      why = cause(best, *slow, name_of(*slow, runs));
    }
  }
  return fmt::format("{} {} {}{}{}.", subject, equals.empty() ? "is" : "are", text,
                     why.empty() ? "" : ": ", why);
}

}  // namespace lockstep::tracer
