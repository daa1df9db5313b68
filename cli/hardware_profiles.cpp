#include "cli/hardware_profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tracer/record/embedded.h"

namespace lockstep::cli {
namespace {

constexpr std::string_view kFolder = "tracer/emulate/hardware/";
constexpr std::string_view kEnding = ".json";

/// Calls `visit` with the name and the text of each profile.
template <typename Visit>
void each_profile(const Visit& visit) {
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const EmbeddedFile& file = lockstep_embedded_files()[i];
    std::string_view path = file.path;
    if (!path.starts_with(kFolder) || !path.ends_with(kEnding)) continue;
    path.remove_prefix(kFolder.size());
    path.remove_suffix(kEnding.size());
    visit(path, std::string_view(file.begin, file.end));
  }
}

tracer::Hardware read_profile(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  if (!stream.good() && !stream.eof()) {
    throw std::runtime_error("cannot read hardware profile " + file +
                             "; fix: name a file, or a profile of --list-hardware");
  }
  return tracer::parse_hardware(text, file);
}

}  // namespace

tracer::Hardware open_hardware(const std::string& name_or_file) {
  if (name_or_file.ends_with(kEnding)) return read_profile(name_or_file);
  std::string_view found;
  std::string names;
  each_profile([&](std::string_view name, std::string_view text) {
    if (name == name_or_file) found = text;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  });
  if (!found.empty()) return tracer::parse_hardware(found, name_or_file);
  throw std::runtime_error(
      fmt::format("there is no hardware profile '{}'; fix: choose one of {}, or a file "
                  "that ends in .json",
                  name_or_file, names));
}

std::vector<tracer::Hardware> all_hardware() {
  std::vector<tracer::Hardware> all;
  each_profile([&](std::string_view name, std::string_view text) {
    all.push_back(tracer::parse_hardware(text, std::string(name)));
  });
  return all;
}

std::string list_hardware() {
  std::string text;
  each_profile([&](std::string_view name, std::string_view profile) {
    const tracer::Hardware hardware =
        tracer::parse_hardware(profile, std::string(name));
    text += fmt::format("{:<22}{}\n{:<22}source: {}\n", name, hardware.description, "",
                        hardware.source);
    if (!hardware.device_times) return;
    std::vector<std::string> nets;
    for (const tracer::PhaseTable& table : hardware.device_times->tables) {
      nets.push_back(fmt::format("{} with {} to {}", table.arch, table.batches.front(),
                                 table.batches.back()));
    }
    text += fmt::format("{:<22}times of {}: {} images of {} pixels\n", "",
                        hardware.device_times->name, fmt::join(nets, ", "),
                        hardware.device_times->tables.front().image_size);
  });
  return text;
}

}  // namespace lockstep::cli
