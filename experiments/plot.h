// Pictures of a table, by gnuplot.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::experiments {

struct Plot {
  int width = 960, height = 420;  ///< pixels; the PNG has twice as many
  std::string commands;           ///< gnuplot's, with the data in them
};

/// Writes `base`.gp (which `gnuplot` draws again), `base`.svg and `base`.png, each
/// whole or not at all. Throws std::runtime_error, one line with the fix, if gnuplot
/// is missing or complains, or a file cannot be written.
void draw(const Plot& plot, const std::filesystem::path& base);

/// `text` between gnuplot's quotes.
std::string quoted(const std::string& text);

}  // namespace lockstep::experiments
