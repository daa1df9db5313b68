#include "experiments/plot.h"

#include <fmt/format.h>

#include <span>
#include <stdexcept>

#include "base/file.h"
#include "base/process.h"

namespace lockstep::experiments {
namespace fs = std::filesystem;
namespace {

constexpr const char* kStyle = R"(set encoding utf8
set border 3 linecolor rgb '#8A93A3'
set tics nomirror scale 0.5 textcolor rgb '#3B4252'
set grid ytics linecolor rgb '#E3E7ED' linetype 1
set title textcolor rgb '#1F2633' font ',12' noenhanced
set key textcolor rgb '#3B4252'
set style fill solid 1 noborder
)";

void write(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// Alone it draws the PNG again; we ask for either kind, on standard output.
std::string script_of(const Plot& plot, const fs::path& base) {
  const std::string name = base.filename().string();
  const std::string look = "font 'Inter,11' background rgb 'white'";
  return fmt::format(
             "# `gnuplot {0}.gp` draws {0}.png again.\n"
             "if (!exists('kind')) {{ kind = 'png'; set output {1} }}\n"
             "if (kind eq 'svg') {{ set terminal svg size {2},{3} {4} }}\n"
             "if (kind eq 'png') {{ set terminal pngcairo size {5},{6} {4} "
             "fontscale 2 linewidth 2 pointscale 2 }}\n",
             name, quoted(name + ".png"), plot.width, plot.height, look, 2 * plot.width,
             2 * plot.height) +
         kStyle + plot.commands;
}

std::string run_gnuplot(const fs::path& script, const std::string& kind) {
  const std::string what = script.stem().string() + "." + kind;
  ProcessResult result{127, "", ""};
  try {
    result = run_process({"gnuplot", "-e", "kind='" + kind + "'", script});
  } catch (const std::runtime_error&) {  // it is not there
  }
  if (result.exit_code == 127) {
    throw std::runtime_error(what +
                             ": not drawn, gnuplot is missing; fix: apt-get "
                             "install gnuplot-nox, then the same command again");
  }
  if (result.exit_code != 0 || result.output.empty()) {
    std::string reason = result.errors.substr(0, 300);
    for (char& c : reason) c = c == '\n' ? ' ' : c;
    throw std::runtime_error(fmt::format("{}: not drawn, gnuplot ended with {}: {}",
                                         what, result.exit_code, reason));
  }
  return result.output;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c;
    if (c == '\'') result += '\'';
  }
  return result + "'";
}

void draw(const Plot& plot, const fs::path& base) {
  const fs::path script = base.string() + ".gp";
  write(script, script_of(plot, base));
  for (const std::string kind : {"svg", "png"}) {
    write(base.string() + "." + kind, run_gnuplot(script, kind));
  }
}

}  // namespace lockstep::experiments
