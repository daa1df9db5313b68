// A sweep as a table, as CSV and as JSON.
#include <fmt/format.h>

#include "base/units.h"
#include "tracer/emulate/sweep.h"

namespace lockstep::tracer {
namespace {

/// Returns true for an option that CSV has as `devices` or `batch` anyway.
bool has_column(const std::string& option) {
  return option == "devices" || option == "batch-size";
}

std::string times(double speed_up) { return fmt::format("{:.2f}x", speed_up); }

std::string rows_text(const std::vector<SweepAxis>& axes,
                      const std::vector<SweepPoint>& points) {
  std::string text;
  for (const SweepAxis& axis : axes) text += fmt::format("{:>16}", axis.option);
  text += fmt::format("{:>12}{:>12}{:>11}{:>14}\n", "one step", "images/s", "speed-up",
                      "efficiency");
  for (const SweepPoint& point : points) {
    for (const double value : point.values) text += fmt::format("{:>16g}", value);
    text +=
        fmt::format("{:>12}{:>12.1f}{:>11}{:>14}\n", human_time(point.step),
                    static_cast<double>(point.batch) / seconds(point.step),
                    times(point.speed_up()), percent(point.speed_up() / point.devices));
  }
  return text;
}

std::string grid_text(const std::vector<SweepAxis>& axes,
                      const std::vector<SweepPoint>& points) {
  std::string text = fmt::format("speed-up by {} (down) and {} (across)\n\n{:>10}",
                                 axes[0].option, axes[1].option, "");
  for (const double value : axes[1].values) text += fmt::format("{:>10g}", value);
  for (size_t i = 0; i < points.size(); ++i) {
    if (i % axes[1].values.size() == 0) {
      text += fmt::format("\n{:>10g}", points[i].values[0]);
    }
    text += fmt::format("{:>10}", times(points[i].speed_up()));
  }
  return text + "\n";
}

}  // namespace

std::string sweep_text(const std::vector<SweepAxis>& axes,
                       const std::vector<SweepPoint>& points) {
  return axes.size() == 2 ? grid_text(axes, points) : rows_text(axes, points);
}

std::string sweep_csv(const std::vector<SweepAxis>& axes,
                      const std::vector<SweepPoint>& points) {
  std::string csv;
  for (const SweepAxis& axis : axes) {
    if (!has_column(axis.option)) csv += axis.option + ",";
  }
  csv += "devices,batch,step_us,one_device_step_us,images_per_s,speed_up\n";
  for (const SweepPoint& point : points) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!has_column(axes[i].option)) csv += fmt::format("{},", point.values[i]);
    }
    csv += fmt::format(
        "{},{},{:.3f},{:.3f},{:.6g},{:.6g}\n", point.devices, point.batch,
        static_cast<double>(point.step) / 1e3, static_cast<double>(point.alone) / 1e3,
        static_cast<double>(point.batch) / seconds(point.step), point.speed_up());
  }
  return csv;
}

Json sweep_json(const std::vector<SweepAxis>& axes,
                const std::vector<SweepPoint>& points) {
  Json rows = Json::array();
  for (const SweepPoint& point : points) {
    Json row = Json::object();
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!has_column(axes[i].option)) row[axes[i].option] = point.values[i];
    }
    row["devices"] = point.devices;
    row["batch"] = point.batch;
    row["step_us"] = static_cast<double>(point.step) / 1e3;
    row["one_device_step_us"] = static_cast<double>(point.alone) / 1e3;
    row["speed_up"] = point.speed_up();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lockstep::tracer
