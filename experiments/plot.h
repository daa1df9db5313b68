// Pictures of a table, by gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::experiments {

struct Plot {
  std::string program;            ///< a file of this folder: batch_size.gp
  int width = 960, height = 420;  ///< pixels; the PNG has twice as many
  std::string heading;
  std::string data;  ///< the variables and data blocks that the program expects
};

/// A data block of gnuplot, `rows` between its ends.
std::string data_block(const std::string& name, const std::string& rows);
/// `name = 'text'`.
std::string variable(const std::string& name, const std::string& text);
/// `array name[…] = [values]`, as they stand.
std::string array(const std::string& name, const std::vector<std::string>& values);
/// `text` between gnuplot's quotes.
std::string quoted(const std::string& text);

/// What gnuplot draws as `name`.png: the plot's data, style.gp and its program.
std::string script_of(const Plot& plot, const std::string& name);

/// Writes `base`.gp (`gnuplot` can redraw the plot from it), `base`.svg and `base`.png,
/// each atomically. Throws std::runtime_error with a one-line message if gnuplot is
/// missing or fails, or a file cannot be written.
void draw(const Plot& plot, const std::filesystem::path& base);

}  // namespace lockstep::experiments
