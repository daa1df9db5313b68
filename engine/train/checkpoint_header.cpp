#include "engine/train/checkpoint_header.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/hash.h"

namespace lockstep::train {
namespace {

using Json = nlohmann::json;

constexpr const char* kKey = "lockstep";
constexpr const char* kChecksum = "checksum";
constexpr int kAtEpochEnd = 1, kInEpoch = 2;  ///< versions of the format

[[noreturn]] void refuse_header(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

[[noreturn]] void refuse_damage(const std::string& path) {
  refuse_header(path, "has a damaged header; fix: resume from another checkpoint");
}

/// Detects manual edits, which would turn the resumed run into a different one.
std::string checksum_of(Json header) {
  header.erase(kChecksum);
  return fmt::format("{:016x}", fnv1a64(header.dump()));
}

}  // namespace

std::string checksum(const data::TensorFileEntry& entry) {
  const auto* bytes = reinterpret_cast<const char*>(entry.data.data());
  return fmt::format("{:016x}", fnv1a64({bytes, entry.data.size()}));
}

std::string without_module(std::string name) {
  for (const std::string wrapper : {"module.", "_orig_mod."}) {
    for (size_t at; (at = ("." + name).find("." + wrapper)) != std::string::npos;) {
      name.erase(at, wrapper.size());
    }
  }
  return name;
}

bool is_checkpoint(const data::Metadata& metadata) { return metadata.count(kKey) > 0; }

bool is_models(const std::string& name) {
  return !name.starts_with(kOptimizer) && !name.starts_with(kAverage);
}

data::Metadata format_header(const CheckpointHeader& header) {
  Json json = {{"checkpoint", header.progress.samples > 0 ? kInEpoch : kAtEpochEnd},
               {"arch", header.progress.arch},
               {"epoch", header.progress.epoch},
               {"samples", header.progress.samples},
               {"steps", header.progress.steps},
               {"best_acc1", header.progress.best_acc1},
               {"recipe", Json::parse(header.progress.recipe)},
               {"dropout_calls", header.dropout_calls},
               {"ready_order", header.ready_order},
               {"checksums", header.checksums}};
  if (header.sharing_steps > 0) json["sharing_steps"] = header.sharing_steps;
  json[kChecksum] = checksum_of(json);
  return {{"format", "pt"}, {kKey, json.dump()}};
}

CheckpointHeader parse_header(const data::Metadata& metadata, const std::string& path) {
  if (!is_checkpoint(metadata)) {
    refuse_header(path,
                  "contains weights, but no optimizer state and no epoch; fix: load it "
                  "with --pretrained");
  }
  CheckpointHeader header;
  try {
    const Json json = Json::parse(metadata.at(kKey));
    if (json.at("checkpoint") != kAtEpochEnd && json.at("checkpoint") != kInEpoch) {
      refuse_header(path,
                    "was written by another version of lockstep; fix: resume it with "
                    "that version");
    }
    if (json.contains(kChecksum) && json[kChecksum] != checksum_of(json)) {
      refuse_header(path,
                    "has an edited or damaged header (its checksum differs); fix: "
                    "resume from another checkpoint, and change options with flags");
    }
    header.progress.arch = json.at("arch").get<std::string>();
    const auto epoch = json.at("epoch").get<int64_t>();
    if (epoch < 0 || epoch > INT32_MAX) refuse_damage(path);
    header.progress.epoch = static_cast<int>(epoch);
    header.progress.samples = json.value("samples", int64_t{0});
    header.progress.steps = json.value("steps", int64_t{0});
    if (header.progress.samples < 0 || header.progress.steps < 0) refuse_damage(path);
    header.progress.best_acc1 = json.at("best_acc1").get<double>();
    if (!json.at("recipe").is_object()) refuse_damage(path);
    header.progress.recipe = json.at("recipe").dump();
    header.dropout_calls = json.at("dropout_calls").get<std::vector<int64_t>>();
    header.ready_order = json.at("ready_order").get<std::vector<size_t>>();
    header.sharing_steps = json.value("sharing_steps", int64_t{0});
    if (header.sharing_steps < 0) refuse_damage(path);
    header.checksums = json.at("checksums").get<decltype(header.checksums)>();
  } catch (const Json::exception&) {
    refuse_damage(path);
  }
  return header;
}

}  // namespace lockstep::train
