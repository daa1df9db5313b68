#include "tracer/emulate/knees.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::tracer {
namespace {

constexpr double kHalf = 0.5;  ///< of a device

/// `1 device`, `4 devices`.
std::string so_many_devices(int count) {
  return fmt::format("{} device{}", count, count == 1 ? "" : "s");
}

std::string bend_sentence(const Knees& knees) {
  if (!knees.bend) {
    return "Between all computed points, each further device adds at least half a "
           "device.";
  }
  const auto& [from, to, added] = *knees.bend;
  const std::string change =
      fmt::format("{} {:.2f} of a device", added < 0 ? "costs" : "adds",
                  added < 0 ? -added : added);
  if (to == from + 1) {
    return fmt::format("Device {} {}, the first that adds less than half of one.", to,
                       change);
  }
  return fmt::format(
      "From {} to {}, each further device {}: here it first adds less than half of "
      "one.",
      from, to, change);
}

std::string top_sentence(const Knees& knees) {
  if (knees.still_rises) {
    return fmt::format(
        "The speed-up still rises at {}, the most that were computed: "
        "{:.2f}x.",
        so_many_devices(knees.most), knees.highest);
  }
  return fmt::format(
      "The speed-up is highest with {}: {:.2f}x; more make it no faster.",
      so_many_devices(knees.fastest), knees.highest);
}

std::string half_sentence(const Knees& knees) {
  if (!knees.half_lost) {
    return fmt::format("The efficiency is at least 50 % up to {}.",
                       so_many_devices(knees.most));
  }
  return fmt::format(
      "With {}, the efficiency is below 50 %: more than half of their time is lost.",
      so_many_devices(*knees.half_lost));
}

}  // namespace

std::vector<SpeedUpCurve> speed_up_curves(const std::vector<SweepAxis>& axes,
                                          const std::vector<SweepPoint>& points) {
  const bool over_devices =
      std::any_of(axes.begin(), axes.end(),
                  [](const SweepAxis& axis) { return axis.option == "devices"; });
  if (!over_devices) return {};
  std::vector<SpeedUpCurve> curves;
  for (const SweepPoint& point : points) {
    std::string what;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].option == "devices") continue;
      what += fmt::format("{}{}={:g}", what.empty() ? "" : ", ", axes[i].option,
                          point.values[i]);
    }
    auto found = std::find_if(curves.begin(), curves.end(),
                              [&](const auto& curve) { return curve.what == what; });
    if (found == curves.end()) found = curves.insert(found, {what, {}});
    found->points.push_back(point);
  }
  for (SpeedUpCurve& curve : curves) {
    const auto devices_of = [](const SweepPoint& point) { return point.devices; };
    std::ranges::stable_sort(curve.points, {}, devices_of);
    const auto same = std::ranges::unique(curve.points, {}, devices_of);
    curve.points.erase(same.begin(), same.end());
  }
  return curves;
}

Knees knees_of(const SpeedUpCurve& curve) {
  Knees knees;
  const std::vector<SweepPoint>& points = curve.points;
  knees.most = points.back().devices;
  for (size_t i = 0; i < points.size(); ++i) {
    const SweepPoint& point = points[i];
    const double speed_up = point.speed_up();
    if (speed_up > knees.highest) {
      knees.highest = speed_up;
      knees.fastest = point.devices;
    }
    if (!knees.half_lost && speed_up < kHalf * point.devices) {
      knees.half_lost = point.devices;
    }
    if (i == 0 || knees.bend) continue;
    const SweepPoint& before = points[i - 1];
    const double added =
        (speed_up - before.speed_up()) / (point.devices - before.devices);
    if (added < kHalf) knees.bend = {before.devices, point.devices, added};
  }
  knees.still_rises = knees.fastest == knees.most;
  return knees;
}

std::string knees_text(const std::vector<SpeedUpCurve>& curves) {
  std::string text;
  for (const SpeedUpCurve& curve : curves) {
    if (curve.points.size() < 2) continue;
    const Knees knees = knees_of(curve);
    if (!curve.what.empty()) text += curve.what + ": ";
    text += fmt::format("{} {} {}\n", bend_sentence(knees), top_sentence(knees),
                        half_sentence(knees));
  }
  return text;
}

}  // namespace lockstep::tracer
