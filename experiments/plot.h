// Plots of a table, drawn by gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::experiments {

struct Plot {
  std::string program;            ///< a file in this folder: batch_size.gp
  int width = 960, height = 420;  ///< pixels; the PNG is twice as large
  std::string heading;
  std::string data;  ///< the variables and data blocks required by the program
};

/// Returns a gnuplot data block with `rows` between its delimiters.
std::string data_block(const std::string& name, const std::string& rows);
/// Returns `name = 'text'`.
std::string variable(const std::string& name, const std::string& text);
/// Returns `array name[…] = [values]`, with the values unchanged.
std::string array(const std::string& name, const std::vector<std::string>& values);
/// Returns `text` in gnuplot's quotes.
std::string quoted(const std::string& text);

/// Returns the script for `name`.png: the plot's data, style.gp and its program.
std::string script_of(const Plot& plot, const std::string& name);

/// Writes `base`.gp (from which `gnuplot` can redraw the plot), `base`.svg and
/// `base`.png, each atomically. Throws std::runtime_error with a one-line message if
/// gnuplot is missing or fails, or if a file cannot be written.
void draw(const Plot& plot, const std::filesystem::path& base);

}  // namespace lockstep::experiments
