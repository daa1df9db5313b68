// The files and numbers of make_pth_golden.py.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/data/safetensors.h"

namespace lockstep::data {

inline std::string pth_golden_path(const std::string& name) {
  return std::string(LOCKSTEP_SOURCE_DIR "/tests/engine/data/pth/") + name;
}

inline const nlohmann::json& pth_golden() {
  static const auto json =
      nlohmann::json::parse(std::ifstream(pth_golden_path("pth.json")));
  return json;
}

template <typename Number>
void expect_bytes(const TensorFileEntry& entry, const nlohmann::json& values) {
  ASSERT_EQ(entry.data.size(), values.size() * sizeof(Number));
  for (size_t i = 0; i < values.size(); ++i) {
    Number number;
    std::memcpy(&number, entry.data.data() + i * sizeof number, sizeof number);
    const Number wanted =
        values[i].is_string()
            ? static_cast<Number>(std::stod(values[i].get<std::string>()))
            : values[i].get<Number>();
    EXPECT_EQ(std::memcmp(&number, &wanted, sizeof number), 0)
        << entry.name << '[' << i << "]: " << number << ", wanted " << wanted;
  }
}

/// Expects the tensor's type, shape and exact numbers.
inline void expect_pth_golden(const TensorFileEntry& entry, const nlohmann::json& g) {
  SCOPED_TRACE(entry.name);
  ASSERT_TRUE(g.is_object());
  EXPECT_EQ(entry.dtype, g["dtype"].get<std::string>());
  EXPECT_EQ(entry.shape, g["shape"].get<std::vector<int64_t>>());
  if (entry.dtype == "F32") expect_bytes<float>(entry, g["values"]);
  if (entry.dtype == "F64") expect_bytes<double>(entry, g["values"]);
  if (entry.dtype == "I64") expect_bytes<int64_t>(entry, g["values"]);
}

}  // namespace lockstep::data
