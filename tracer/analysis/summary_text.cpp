// The summary as text, in 100 columns.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/units.h"
#include "tracer/analysis/speedup.h"
#include "tracer/analysis/summary_parts.h"
#include "tracer/format/args.h"

namespace lockstep::tracer {

namespace {

constexpr size_t kMaxColumns = 6;
constexpr const char* kLegend =
    "  host: time of host threads in the phase; device: from the start of its first "
    "kernel or\n  copy to the end of its last; busy: time in which that device ran "
    "part of it or\n  waited for others. Phases overlap, so times do not add up.\n";
constexpr const char* kHostLegend =
    "  host: time of host threads in the phase. No device recorded anything.\n";
constexpr size_t kPartColumns = 74;

std::string port_label(int64_t port) {
  return port == kHost ? "host" : fmt::format("device {}", port);
}

std::string short_label(int64_t port) {
  return port == kHost ? "host" : fmt::format("dev {}", port);
}

std::string host_phase_table(const std::vector<NamedPhase>& phases) {
  std::string text = fmt::format("\n  {:<16}{:>10}\n", "phase", "host");
  for (const auto& [name, cost] : phases) {
    text += fmt::format("  {:<16}{:>10}\n", name, time_or_dash(cost.host));
  }
  return text + kHostLegend;
}

/// Has one column per device; more than six would not fit.
std::string phase_table(const StepGroup& group) {
  const std::vector<NamedPhase> phases = group.mean_phases();
  std::set<int64_t> devices;
  for (const auto& [name, cost] : phases) {
    for (const auto& [device, busy] : cost.busy) devices.insert(device);
  }
  if (devices.empty()) return host_phase_table(phases);
  const size_t all = devices.size();
  while (devices.size() > kMaxColumns) devices.erase(std::prev(devices.end()));

  std::string text =
      fmt::format("\n  {:<16}{:>10}{:>10}   busy:", "phase", "host", "device");
  for (const int64_t device : devices)
    text += fmt::format("{:>9}", short_label(device));
  if (const size_t more = all - devices.size(); more > 0) {
    text += fmt::format("\n{:38}… {} more device{} (listed by --json)", "", more,
                        more == 1 ? "" : "s");
  }
  text += "\n";
  for (const auto& [name, cost] : phases) {
    text += fmt::format("  {:<16}{:>10}{:>10}{:8}", name, time_or_dash(cost.host),
                        time_or_dash(cost.device), "");
    for (const int64_t device : devices) {
      const auto busy = cost.busy.find(device);
      text += fmt::format("{:>9}",
                          time_or_dash(busy == cost.busy.end() ? 0 : busy->second));
    }
    text += "\n";
  }
  return text + kLegend;
}

std::string path_table(const StepGroup& group) {
  const std::vector<PathShare> shares = group.mean_path();
  double whole = 0;
  for (const PathShare& share : shares) whole += static_cast<double>(share.nanoseconds);
  if (whole <= 0) return {};
  std::string text = "\n  the longest path consists of\n";
  for (const auto& [what, time] : shares) {
    const double share = static_cast<double>(time) / whole;
    text += fmt::format("  {:<20}{:>10}{:>6}  {}\n", what, human_time(time),
                        percent(share), text_bar(share));
  }
  return text;
}

std::string byte_table(const StepGroup& group) {
  if (group.bytes_by_why.empty()) return "\n  no copies were recorded\n";
  const auto steps = static_cast<int64_t>(group.steps.size());
  std::string text = "\n  bytes per step      by reason\n";
  for (const auto& [why, bytes] : group.bytes_by_why) {
    text += fmt::format("  {:<20}{:>10}\n", why, human_bytes(bytes / steps));
  }
  text += fmt::format("\n  {:<20}{:>10}{:>10}\n", "bytes per port", "in", "out");
  for (const auto& [port, bytes] : group.ports) {
    text += fmt::format("  {:<20}{:>10}{:>10}\n", port_label(port),
                        human_bytes(bytes.in / steps), human_bytes(bytes.out / steps));
  }
  return text;
}

/// Returns "" if the trace does not contain the number of images.
std::string images_per_second(const StepGroup& group) {
  const int64_t length = group.mean_length(), batch = group.steps[0].batch;
  if (length <= 0 || batch <= 0) return {};
  return fmt::format(" · {:.0f} images/s",
                     static_cast<double>(batch) / seconds(length));
}

/// Returns how often a step starts and by how much the devices outlast the host in it;
/// the steps of an import overlap.
std::string overhang_text(const StepGroup& group) {
  if (group.mean_period() <= 0) return {};
  return fmt::format(
      "  the host starts a step every {}; the devices end it {} after the host does\n",
      human_time(group.mean_period()), human_time(group.mean_overhang()));
}

/// Shows what the profiler's own tools show: each device's time, regardless of steps.
std::string recording_table(const Summary& summary) {
  if (summary.recording.empty()) return {};
  std::string text =
      fmt::format("\n{:<18}{:>9}{:>11}{:>11}{:>9}{:>9}{:>9}{:>9}{:>7}{:>8}\n",
                  "whole recording", "length", "computing", "collective", "overlap",
                  "memory", "idle", "kernels", "copies", "memsets");
  for (size_t i = 0; i < std::min(summary.recording.size(), kMaxRows); ++i) {
    const DeviceTimes& time = summary.recording[i];
    text += fmt::format("  {:<16}{:>9}{:>11}{:>11}{:>9}{:>9}{:>9}{:>9}{:>7}{:>8}\n",
                        fmt::format("rank {} dev {}", time.rank, time.device),
                        human_time(time.recorded), human_time(time.computing),
                        human_time(time.communicating), human_time(time.both),
                        human_time(time.memory), human_time(time.idle),
                        time.kernels + time.collectives, time.copies, time.memsets);
  }
  if (summary.recording.size() > kMaxRows) {
    text += fmt::format("  … and {} more\n", summary.recording.size() - kMaxRows);
  }
  return text +
         "  length: from its first kernel or copy to its last; overlap: of collectives "
         "with\n  computing; memory: copies and memsets.\n";
}

std::string group_text(const char* title, const StepGroup& group,
                       const Summary& summary) {
  if (group.steps.empty()) return {};
  const bool imported = summary.imported;
  const size_t count = group.steps.size();
  std::string text =
      fmt::format("\n{} · {} step{}", title, count, count == 1 ? "" : "s");
  if (!summary.timed()) return text + "\n" + byte_table(group);
  text += fmt::format(" · {} each{}", human_time(group.mean_length()),
                      images_per_second(group));
  if (summary.devices > 0) {
    text += fmt::format(" · kernels on {:.1f} devices on average",
                        group.devices_computing());
  }
  text += "\n";
  if (group.at_own_pace()) {
    text +=
        "  Ranks make steps at their own pace: a step lasts from the end of the one "
        "before\n  until the last rank has made it.\n";
  }
  if (const std::string warm_up = warm_up_sentence(group); !warm_up.empty()) {
    text += fmt::format("  {}\n", warm_up);
  }
  if (imported) text += overhang_text(group);
  text += utilisation_text(group.utilisation);
  text += phase_table(group);
  text += split_text(group.mean_split());
  text += pipelines_text(group.pipelines());
  text += path_table(group);
  text += communication_text(group, imported);
  text += byte_table(group);
  return text;
}

/// "parameters 48 B · activations 24 B …", largest first, as many as fit.
std::string memory_parts(const MemoryPeak& peak) {
  std::vector<std::pair<int64_t, std::string>> sizes;
  for (const auto& [category, bytes] : peak.categories) {
    if (bytes > 0) sizes.emplace_back(bytes, category);
  }
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string parts;
  size_t columns = 0;
  for (const auto& [bytes, category] : sizes) {
    const std::string part = fmt::format("{} {}", category, human_bytes(bytes));
    columns += part.size() + 3;
    if (columns > kPartColumns) return parts + " …";
    if (!parts.empty()) parts += " · ";
    parts += part;
  }
  return parts;
}

std::string memory_table(const Summary& summary) {
  if (summary.memory.empty()) return {};
  std::string text = "\npeak memory\n";
  for (const auto& [device, peak] : summary.memory) {
    text += fmt::format("  {:<10}{:>9}   {}\n", port_label(device),
                        human_bytes(peak.total), memory_parts(peak));
  }
  return text;
}

/// What activation checkpointing costs, and in devices without times, how much work.
std::string recomputed_text(const Summary& summary) {
  const Recomputed& again = summary.recomputed;
  if (again.kernels == 0) return {};
  std::string text =
      fmt::format("\nactivation checkpointing: {} kernels ran again in backward passes",
                  again.kernels);
  if (summary.timed() && again.time_of_all > 0) {
    text += fmt::format(": {}, {} of the time of all kernels", human_time(again.time),
                        percent(static_cast<double>(again.time) /
                                static_cast<double>(again.time_of_all)));
  }
  return text + "\n";
}

std::string kernel_table(const Summary& summary) {
  if (summary.kernels.empty()) return {};
  const auto cpu = [&](const std::string& text) {  // an import has none
    return summary.imported ? "" : fmt::format("{:>12}", text);
  };
  std::string text =
      fmt::format("\n{:<52}{:>8}{:>12}{}\n", "kernels by implementation", "count",
                  "wall", cpu(summary.processor == Processor::cores ? "cpu" : "gpu"));
  const size_t rows = std::min(summary.kernels.size(), kMaxRows);
  for (size_t i = 0; i < rows; ++i) {
    const KernelTime& time = summary.kernels[i];
    text += fmt::format("  {:<50.50}{:>8}{:>12}{}\n", time.impl, time.count,
                        human_time(time.wall), cpu(human_time(time.cpu)));
  }
  if (rows < summary.kernels.size()) {
    text += fmt::format("  … and {} more\n", summary.kernels.size() - rows);
  }
  return text;
}

}  // namespace

std::string left_out_text(const Json& lockstep) {
  const Json imported = object_arg(lockstep, top::imported);
  std::string text;
  for (const auto& [what, count] : object_arg(imported, "left_out").items()) {
    if (!count.is_number_integer()) continue;
    text += text.empty() ? "left out: " : ", ";
    const char* plural = count == 1 ? "" : "s";
    text += what == "Call stack"
                ? fmt::format("the call stacks of {} operator{}", count.dump(), plural)
                : fmt::format("{} event{} of {}", count.dump(), plural, what);
  }
  return text;
}

namespace {

/// Returns the words in lines of at most 100 columns, all but the first indented.
std::string in_lines(std::string_view text) {
  std::string lines;
  size_t width = 0;  // of characters, not bytes
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const auto columns = static_cast<size_t>(std::ranges::count_if(
        word, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    if (width > 0 && width + 1 + columns > 100) {
      lines += "\n   ";
      width = 3;
    }
    lines += lines.empty() ? "" : " ";
    lines += word;
    width += columns + 1;
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return lines + "\n";
}

std::string speedup_text(const Summary& summary, const Summary* single) {
  std::string text;
  const std::string speedup = speedup_sentence(summary, single);
  if (!speedup.empty()) text += fmt::format("\n{}\n", speedup);
  if (single == nullptr) return text;
  const std::optional<Speedup> divided = divide_speedup(summary, *single);
  return text + (divided ? speedup_line(*divided) + "\n" : "");
}

}  // namespace

std::string summary_text(const Summary& summary, const Summary* single) {
  const auto or_unknown = [](const std::string& text) {
    return text.empty() ? "unknown" : text;
  };
  std::string text = fmt::format(
      "{} · {} · {} device{} · {}\n", or_unknown(summary.arch),
      or_unknown(summary.mode), summary.devices, summary.devices == 1 ? "" : "s",
      summary.timed() ? or_unknown(summary.clock) + " clock" : "null: no times");
  if (const std::string& device = summary.emulated_devices; !device.empty())
    text += fmt::format("emulated devices: they take the times of {}\n", device);
  if (summary.rank != kNone) {
    text += fmt::format(
        "rank {} of {} only: what it waits for is not in this file; `trace merge` "
        "joins the files of all ranks\n",
        summary.rank, summary.world_size);
  }
  if (!summary.cut.empty()) text += summary.cut + "\n";
  if (!summary.left_out.empty()) text += summary.left_out + "\n";
  if (!summary.failure.empty()) text += "the run failed: " + summary.failure + "\n";
  const std::vector<std::string>& assumed = summary.assumed_in_short;
  if (!assumed.empty()) text += "assumed (--json says all):\n";
  for (const std::string& line : assumed) text += in_lines("- " + line);
  if (summary.timed()) text += recording_table(summary);
  // A profiler's file does not say what its steps are for.
  text += group_text(summary.imported ? "steps" : "training", summary.train, summary);
  text += group_text("evaluation", summary.eval, summary);
  if (summary.clock == values::emulated && summary.train.mean_ranks().size() > 1) {
    text +=
        "  Hosts keep their recorded pace, so part of the waiting is noise of the "
        "machine that\n  recorded the trace.\n";
  }
  text += staleness_text(summary.staleness);
  text += memory_table(summary);
  text += recomputed_text(summary);
  if (summary.timed()) text += kernel_table(summary);
  text += speedup_text(summary, single);
  text += fmt::format("\n{}\n", limiting_sentence(summary, single));
  return text;
}

}  // namespace lockstep::tracer
