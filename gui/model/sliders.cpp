#include "gui/model/sliders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"

namespace lockstep::gui {

namespace {

using tracer::WhatIf;

/// Numbers from `least` to `most` whose first digits are those of `series`.
std::vector<double> decades(double least, double most) {
  std::vector<double> stops;
  for (int power = -6; power <= 6; ++power) {
    for (const int digits : {10, 12, 15, 20, 25, 30, 40, 50, 60, 80}) {
      const double tenth = std::pow(10.0, std::abs(power - 1));
      const double value = power >= 1 ? digits * tenth : digits / tenth;
      if (value >= least && value <= most) stops.push_back(value);
    }
  }
  return stops;
}

std::vector<double> device_stops() {
  std::vector<double> stops;
  for (int n = 1; n <= 16; ++n) stops.push_back(n);
  for (int n = 16; n < 1024; n *= 2) {
    for (int part = 5; part <= 8; ++part) stops.push_back(n * part / 4.0);
  }
  return stops;
}

/// The batches of one device: at most 64 of those between the recorded ones.
std::vector<double> batch_stops(const WhatIfRoom& room) {
  constexpr int64_t kMost = 64;
  if (room.batches.empty()) return {0};
  const int64_t least = room.batches.front(), more = room.batches.back() - least;
  const int64_t steps = std::min(more, kMost);
  std::vector<double> stops;
  for (int64_t i = 0; i <= steps; ++i) {
    stops.push_back(static_cast<double>(least + (steps == 0 ? 0 : more * i / steps)));
  }
  return stops;
}

std::vector<double> knob_stops(Knob knob, const WhatIfRoom& room) {
  switch (knob) {
    case Knob::devices:
      return device_stops();
    case Knob::batch:
      return batch_stops(room);
    case Knob::bucket_cap:
      return {1, 2, 4, 8, 10, 15, 20, 25, 32, 40, 50, 64, 100, 128, 256, 512, 1024};
    case Knob::first_bucket:
      return {1, 2, 4, 8, 16, 25, 50, 100};
    case Knob::gb_per_s:
      return decades(0.1, 1000);
    case Knob::latency:
      return decades(0.1, 1000);
    case Knob::interference:
      return {1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.5, 3};
    default:
      return decades(0.1, 100);
  }
}

std::vector<std::string> knob_choices(Knob knob, const WhatIfRoom& room) {
  if (knob == Knob::mode && room.batches.empty()) return {""};
  if (knob == Knob::mode) return {"dp", "ddp"};
  if (knob == Knob::all_reduce) return {"", "ring", "tree"};
  std::vector<std::string> words{""};
  words.insert(words.end(), room.profiles.begin(), room.profiles.end());
  return words;
}

bool is_choice(Knob knob) {
  return knob == Knob::mode || knob == Knob::all_reduce || knob == Knob::hardware;
}

std::string chosen_of(Knob knob, const WhatIf& question) {
  if (knob == Knob::mode) return question.mode;
  return knob == Knob::all_reduce ? question.all_reduce : question.hardware;
}

int64_t batch_of_each(const WhatIf& question, const WhatIfRoom& room) {
  if (question.batch > 0) return question.batch / std::max(1, question.devices);
  return room.batch;
}

double knob_number(Knob knob, const WhatIf& question, const WhatIfRoom& room) {
  switch (knob) {
    case Knob::devices:
      return question.mode.empty() ? room.devices : question.devices;
    case Knob::batch:
      return static_cast<double>(batch_of_each(question, room));
    case Knob::bucket_cap:
      return question.bucket_cap_mb;
    case Knob::first_bucket:
      return question.first_bucket_mb;
    case Knob::gb_per_s:
      return question.link.gb_per_s;
    case Knob::latency:
      return question.link.latency_us;
    case Knob::compute:
      return question.compute_scale;
    case Knob::interference:
      return question.interference.value_or(1);
    default:
      return question.host_scale;
  }
}

std::string value_text(Knob knob, const WhatIf& question, const WhatIfRoom& room) {
  const double number = is_choice(knob) ? 0 : knob_number(knob, question, room);
  switch (knob) {
    case Knob::mode:
      return question.mode.empty() ? room.mode : question.mode;
    case Knob::all_reduce:
      if (!question.all_reduce.empty()) return question.all_reduce;
      return question.hardware.empty() ? "ring" : "by hardware";
    case Knob::hardware:
      return question.hardware.empty() ? "equal links" : question.hardware;
    case Knob::batch:
      return number == 0 ? "as recorded" : fmt::format("{:g} on each", number);
    case Knob::bucket_cap:
    case Knob::first_bucket:
      return fmt::format("{:g} MiB", number);
    case Knob::gb_per_s:
      return question.hardware.empty() ? fmt::format("{:g} GB/s", number) : "–";
    case Knob::latency:
      return question.hardware.empty() ? fmt::format("{:g} µs", number) : "–";
    case Knob::devices:
      return fmt::format("{:g}", number);
    case Knob::interference:
      if (!question.interference && !question.hardware.empty()) return "by hardware";
      return fmt::format("{:g}x", number);
    default:
      return fmt::format("{:g}x", number);
  }
}

/// What the program of a trace was, before its mode and its devices.
const char* program_of(const WhatIfRoom& room) {
  return room.provenance == Provenance::constructed ? "constructed" : "recorded";
}

std::string why_off(Knob knob, const WhatIf& question, const WhatIfRoom& room) {
  const bool constructs = knob == Knob::devices || knob == Knob::batch ||
                          knob == Knob::bucket_cap || knob == Knob::first_bucket ||
                          knob == Knob::all_reduce;
  if (knob == Knob::mode || constructs) {
    if (!room.why_not.empty()) {
      return fmt::format("{} with mode {} on {} device{}: {}", program_of(room),
                         room.mode, room.devices, room.devices == 1 ? "" : "s",
                         room.devices > 1 ? "only its times change" : room.why_not);
    }
  }
  const bool buckets = knob == Knob::bucket_cap || knob == Knob::first_bucket ||
                       knob == Knob::all_reduce;
  if (buckets && question.mode != "ddp") return "only DDP has buckets: choose mode ddp";
  if (knob == Knob::interference && question.mode == "dp" &&
      question.hardware.empty()) {
    return "only collectives slow kernels down: choose mode ddp";
  }
  if (knob == Knob::batch && room.batches.size() < 2) {
    return "one batch was recorded, and times of another would be guessed: open "
           "recordings with other -b, too";
  }
  if ((knob == Knob::gb_per_s || knob == Knob::latency) && !question.hardware.empty()) {
    return question.hardware + " has links of its own";
  }
  if (knob == Knob::hardware && room.profiles.empty()) return "no profiles are known";
  return "";
}

bool little(int64_t before, int64_t after) {
  return std::abs(after - before) < before / 100;
}

struct KnobWords {
  const char *name, *tip;
};

KnobWords knob_words(Knob knob) {
  switch (knob) {
    case Knob::mode:
      return {"mode", "how the devices share a batch: dp or ddp"};
    case Knob::devices:
      return {"devices", "how many devices share the work"};
    case Knob::batch:
      return {"batch", "images on each device, between recorded batches"};
    case Knob::bucket_cap:
      return {"bucket cap", "DDP sums gradients in buckets of about this size"};
    case Knob::first_bucket:
      return {"first bucket", "the size at which the first bucket is full"};
    case Knob::all_reduce:
      return {"all-reduce", "how buckets are summed: in a ring or along a tree"};
    case Knob::hardware:
      return {"hardware",
              "the links of a machine, with its switches; kernels keep their times"};
    case Knob::gb_per_s:
      return {"link", "bandwidth of every link"};
    case Knob::latency:
      return {"latency", "time before the first byte of every copy"};
    case Knob::compute:
      return {"device speed", "speed of kernels, relative to the recording"};
    case Knob::host:
      return {"host speed", "speed of the host, relative to the recording"};
    case Knob::interference:
      break;
  }
  return {"interference", "how many times as long kernels take during collectives"};
}

}  // namespace

SliderFace face_of(Knob knob, const WhatIf& question, const WhatIfRoom& room) {
  const KnobWords words = knob_words(knob);
  SliderFace face{
      words.name, value_text(knob, question, room), why_off(knob, question, room), 0, 1,
      words.tip};
  if (is_choice(knob)) {
    const std::vector<std::string> all = knob_choices(knob, room);
    face.stops = all.size();
    const auto own = std::ranges::find(all, chosen_of(knob, question));
    face.stop = own == all.end() ? 0 : static_cast<size_t>(own - all.begin());
    return face;
  }
  const std::vector<double> all = knob_stops(knob, room);
  const double own = knob_number(knob, question, room);
  face.stops = all.size();
  const auto nearest = std::ranges::min_element(
      all, {}, [&](double stop) { return std::abs(stop - own); });
  face.stop = static_cast<size_t>(nearest - all.begin());
  return face;
}

WhatIf with_stop(Knob knob, size_t stop, WhatIf question, const WhatIfRoom& room) {
  if (is_choice(knob)) {
    const std::vector<std::string> all = knob_choices(knob, room);
    const std::string word = all[std::min(stop, all.size() - 1)];
    if (knob == Knob::mode) {
      question.mode = word;
      if (word != "ddp") {
        question.devices = std::min(question.devices, tracer::kMostDevices);
      }
    } else if (knob == Knob::all_reduce) {
      question.all_reduce = word;
    } else {
      question.hardware = word;
      if (!word.empty()) question.link = {};
    }
    return question;
  }
  const std::vector<double> all = knob_stops(knob, room);
  const double number = all[std::min(stop, all.size() - 1)];
  const int64_t each = batch_of_each(question, room);
  switch (knob) {
    case Knob::devices:
      if (question.batch > 0) question.batch = each * static_cast<int64_t>(number);
      question.devices = static_cast<int>(number);
      break;
    case Knob::batch:
      question.batch = static_cast<int64_t>(number) * question.devices;
      break;
    case Knob::bucket_cap:
      question.bucket_cap_mb = static_cast<int>(number);
      break;
    case Knob::first_bucket:
      question.first_bucket_mb = static_cast<int>(number);
      break;
    case Knob::gb_per_s:
      question.link.gb_per_s = number;
      break;
    case Knob::latency:
      question.link.latency_us = number;
      break;
    case Knob::compute:
      question.compute_scale = number;
      break;
    case Knob::interference:
      question.interference.reset();
      if (number != 1 || !question.hardware.empty()) question.interference = number;
      break;
    default:
      question.host_scale = number;
  }
  return question;
}

WhatIf first_question(const WhatIfRoom& room) {
  WhatIf question;
  if (room.batches.empty()) return question;
  question.mode = "ddp";
  question.devices = 4;
  return question;
}

std::string step_words(const WhatIf& question, const WhatIfRoom& room,
                       const WhatIfTimes& times) {
  const std::string took = fmt::format("**{}** a step", human_time(times.step));
  const std::string recorded = human_time(times.recorded);
  const char* own = room.provenance == Provenance::recorded ? "Recorded" : "Original";
  const std::string change = change_text(times.recorded, times.step);
  if (question.mode.empty() || room.batches.empty()) {
    if (times.defaults == 0) {
      return fmt::format("{}; {} {}: **{}**", took, own_times(room.provenance),
                         recorded, change);
    }
    return fmt::format("{}: **{}** from {} with the default links and speeds. {}: {}",
                       took, change_text(times.defaults, times.step),
                       human_time(times.defaults), own, recorded);
  }
  const int64_t batch =
      question.batch > 0 ? question.batch : room.batch * question.devices;
  const double rate = static_cast<double>(batch) / seconds(times.step);
  std::string text =
      fmt::format("{} of {} images on {} device{}, {:.0f} images/s", took, batch,
                  question.devices, question.devices == 1 ? "" : "s", rate);
  if (question.devices > 1 && times.alone > 0) {
    text += fmt::format(": **{:.2f}x** one such device",
                        question.devices * static_cast<double>(times.alone) /
                            static_cast<double>(times.step));
  }
  if (batch == room.batch)
    return fmt::format("{}. {}: {}, **{}**", text, own, recorded, change);
  return fmt::format("{}. {}: {} for {} image{} on one device", text, own, recorded,
                     room.batch, room.batch == 1 ? "" : "s");
}

bool LinkEffect::is_little() const { return little(before, after); }

std::string links_words(const WhatIf& question, const LinkEffect& effect) {
  std::string text;
  if (!question.hardware.empty() && question.compute_scale == 1) {
    text = fmt::format(
        "**{}** stands for its links: kernels keep the speed of the recording.",
        question.hardware);
  }
  if (effect.before <= 0 || !effect.is_little()) return text;
  const tracer::Link usual;
  text += fmt::format(
      "{}Links change little here: with {:g} GB/s and {:g} µs, the step takes **{}**.",
      text.empty() ? "" : " ", usual.gb_per_s, usual.latency_us,
      human_time(effect.before));
  if (effect.fast_before <= 0) return text;
  const std::string fast = fmt::format("device speed {:g}x", kFasterDevices);
  if (little(effect.fast_before, effect.fast_after)) {
    return text + fmt::format(" With {}, they change little, too.", fast);
  }
  return text + fmt::format(" With **{}**, they change it from {} to **{}**.", fast,
                            human_time(effect.fast_before),
                            human_time(effect.fast_after));
}

const char* own_times(Provenance provenance) {
  return provenance == Provenance::recorded ? "recorded" : "original";
}

std::string retimed_words(const WhatIfRoom& room) {
  if (!room.batches.empty() || room.mode.empty()) return "";
  if (room.devices > 1) {
    return fmt::format(
        "{} with mode {} on {} devices, so only its times change here. For other "
        "modes, devices and buckets, open {} recording of one device.",
        room.provenance == Provenance::constructed ? "Constructed" : "Recorded",
        room.mode, room.devices,
        room.provenance == Provenance::constructed ? "the" : "a");
  }
  return fmt::format("Only the recorded program's times change here: {}.",
                     room.why_not);
}

std::string change_text(int64_t before, int64_t after) {
  if (before <= 0) return "";
  const double ratio = static_cast<double>(after) / static_cast<double>(before);
  const auto points = std::lround((ratio - 1) * 100);
  if (points == 0) return "±0 %";
  return fmt::format("{}{} %", points > 0 ? "+" : "−", std::abs(points));
}

}  // namespace lockstep::gui
