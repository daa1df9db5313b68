#include "cli/emulate_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "experiments/plot.h"
#include "tracer/emulate/knees.h"

namespace lockstep::cli {
namespace {

experiments::Plot plot_of(const std::vector<tracer::SpeedUpCurve>& curves,
                          const std::string& heading) {
  std::string rows;
  std::vector<std::string> labels;
  for (const tracer::SpeedUpCurve& curve : curves) {
    if (!rows.empty()) rows += "\n\n";
    labels.push_back(experiments::quoted(curve.what.empty() ? "emulated" : curve.what));
    for (const tracer::SweepPoint& point : curve.points) {
      rows += fmt::format("{} {:.6g}\n", point.devices, point.speed_up());
    }
  }
  experiments::Plot plot;
  plot.program = "sweep.gp";
  plot.width = 720;
  plot.heading = heading;
  plot.data =
      experiments::data_block("curves", rows) + experiments::array("label", labels);
  return plot;
}

}  // namespace

void require_plottable(const std::vector<tracer::SweepAxis>& axes,
                       const SweepFiles& files) {
  const bool over_devices = std::any_of(
      axes.begin(), axes.end(),
      [](const tracer::SweepAxis& axis) { return axis.option == "devices"; });
  if (files.plot.empty() || over_devices) return;
  throw UsageError(
      "--plot: speed-ups are drawn against the number of devices; fix: add --sweep "
      "devices=1..64");
}

void write_sweep(const std::vector<tracer::SweepAxis>& axes,
                 const std::vector<tracer::SweepPoint>& points, const SweepFiles& files,
                 const std::string& heading, bool json) {
  std::FILE* out = json ? stderr : stdout;
  if (!files.csv.empty()) {
    AtomicFile file(files.csv);
    file.write(tracer::sweep_csv(axes, points));
    file.commit();
    fmt::print(out, "=> written: {}\n", files.csv);
  }
  if (files.plot.empty()) return;
  try {
    experiments::draw(plot_of(tracer::speed_up_curves(axes, points), heading),
                      files.plot);
    fmt::print(out, "=> drawn: {0}.svg, {0}.png\n", files.plot);
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
  }
}

}  // namespace lockstep::cli
