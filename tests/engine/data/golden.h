// Reads golden.json, which make_golden.py generates.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>

namespace lockstep::data {

inline const nlohmann::json& golden() {
  static const auto json = nlohmann::json::parse(
      std::ifstream(LOCKSTEP_SOURCE_DIR "/tests/engine/data/golden.json"));
  return json;
}

}  // namespace lockstep::data
