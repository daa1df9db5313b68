#include "tracer/emulate/sweep.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/symmetric/symmetric_ddp.h"

namespace lockstep::tracer {
namespace {

/// A program and its hardware.
struct Setting {
  ConstructedProgram program;
  EmulateOptions options;
};

/// An option that can be swept.
struct Sweepable {
  const char* name;
  bool whole;  ///< takes only integers
  void (*set)(Setting&, double);
};

const std::vector<Sweepable>& sweepables() {
  static const std::vector<Sweepable> all{
      {"devices", true,
       [](Setting& s, double value) { s.program.devices = static_cast<int>(value); }},
      {"batch-size", true,
       [](Setting& s, double value) { s.program.batch = static_cast<int64_t>(value); }},
      {"bucket-cap-mb", true,
       [](Setting& s, double value) {
         s.program.bucket_cap = static_cast<int64_t>(value) << 20;
       }},
      {"link-gb-per-s", false,
       [](Setting& s, double value) { s.options.link.gb_per_s = value; }},
      {"link-latency-us", false,
       [](Setting& s, double value) { s.options.link.latency_us = value; }},
      {"compute-scale", false,
       [](Setting& s, double value) { s.options.compute_scale = value; }},
      {"host-scale", false,
       [](Setting& s, double value) { s.options.host_scale = value; }},
      {"interference", false,
       [](Setting& s, double value) { s.options.interference = value; }}};
  return all;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  std::string names;
  for (const Sweepable& option : sweepables()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", option.name);
  }
  throw std::invalid_argument(fmt::format(
      "--sweep {}: {}; fix: pass OPTION=A,B,C or OPTION=A..B, where OPTION is "
      "one of {}",
      text, why, names));
}

const Sweepable& find_option(std::string_view name, std::string_view text) {
  for (const Sweepable& option : sweepables()) {
    if (name == option.name) return option;
  }
  refuse(text, fmt::format("'{}' cannot be swept", name));
}

double parse_value(std::string_view word, bool whole, std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value);
  const bool parsed = error == std::errc() && end == word.data() + word.size();
  if (!parsed || !std::isfinite(value) || value < 0 || value > 1e6) {
    refuse(text, fmt::format("'{}' is not a number from 0 to 1000000", word));
  }
  if (whole && (value != std::floor(value) || value < 1)) {
    refuse(text, fmt::format("'{}' is not a whole number above 0", word));
  }
  return value;
}

std::vector<double> doubling(double from, double to, std::string_view text) {
  if (!(from > 0) || to < from) refuse(text, "A..B needs 0 < A ≤ B");
  std::vector<double> values;
  for (double value = from; value < to; value *= 2) values.push_back(value);
  values.push_back(to);
  return values;
}

int64_t length_of(const Trace& program, const EmulateOptions& options) {
  return join_ranks(find_steps(emulate(program, options))).at(0).length();
}

/// Computes the step and the batch of a program: where possible without its messages.
void measure(const Trace& trace, const Setting& setting, SweepPoint& point) {
  const bool ddp = setting.program.mode == "ddp";
  if (ddp) require_messages_possible(setting.program, setting.options);
  if (ddp && needs_messages(setting.program, setting.options) == nullptr) {
    const SymmetricDdp ranks(trace, setting.program);
    const SymmetricStep step = ranks.retime(setting.options);
    point.step = step.length;
    point.batch = ranks.batch();
    point.exact = step.exact;
    if (step.exact || setting.program.devices > kMostDevices) return;
  }
  const Trace constructed = construct(trace, setting.program);
  point.batch = int_arg(constructed.lockstep[top::constructed], "batch");
  point.step = length_of(constructed, setting.options);
  point.exact = true;
}

/// Calls `visit` with each combination of values, the last axis varying fastest.
template <typename Visit>
void each_combination(const std::vector<SweepAxis>& axes, const Visit& visit) {
  std::vector<size_t> at(axes.size());
  for (;;) {
    std::vector<double> values;
    for (size_t i = 0; i < axes.size(); ++i) values.push_back(axes[i].values[at[i]]);
    visit(values);
    size_t axis = axes.size();
    while (axis > 0 && ++at[axis - 1] == axes[axis - 1].values.size()) at[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace

SweepAxis parse_sweep(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos) refuse(text, "has no '='");
  const Sweepable& option = find_option(text.substr(0, equals), text);
  std::string_view rest = text.substr(equals + 1);
  SweepAxis axis{option.name, {}};
  if (const size_t dots = rest.find(".."); dots != rest.npos) {
    axis.values =
        doubling(parse_value(rest.substr(0, dots), option.whole, text),
                 parse_value(rest.substr(dots + 2), option.whole, text), text);
    return axis;
  }
  while (true) {
    const size_t comma = rest.find(',');
    axis.values.push_back(parse_value(rest.substr(0, comma), option.whole, text));
    if (comma == rest.npos) return axis;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<SweepPoint> sweep(const Trace& trace, const std::vector<SweepAxis>& axes,
                              const ConstructedProgram& program,
                              const EmulateOptions& options) {
  const Trace single = construct_single(trace);
  const int64_t batch_alone = recorded_step(trace).batch;
  std::vector<SweepPoint> points;
  each_combination(axes, [&](const std::vector<double>& values) {
    Setting setting{program, options};
    for (size_t i = 0; i < axes.size(); ++i) {
      find_option(axes[i].option, axes[i].option).set(setting, values[i]);
    }
    SweepPoint& point = points.emplace_back();
    point.values = values;
    point.devices = setting.program.devices;
    measure(trace, setting, point);
    point.alone = length_of(single, setting.options);
    point.batch_alone = batch_alone;
  });
  return points;
}

}  // namespace lockstep::tracer
