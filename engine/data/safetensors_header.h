// The header of a safetensors file: text to places in the data, and back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"

namespace lockstep::data {

/// A tensor without its bytes, and where they are in the data.
struct TensorPlace {
  TensorFileEntry entry;
  uint64_t begin, end;
};

/// Parses the JSON text of a header whose data has `data_size` bytes, with all the
/// checks that `read_safetensors` promises. `file` is for messages.
std::vector<TensorPlace> parse_safetensors_header(const std::string& text,
                                                  uint64_t data_size,
                                                  const std::string& file,
                                                  Metadata* metadata);

/// The header for these tensors laid end to end, padded to a multiple of 8 bytes.
/// Throws std::runtime_error without a file's name: the caller knows it.
std::string format_safetensors_header(const std::vector<TensorFileEntry>& entries,
                                      const Metadata& metadata);

}  // namespace lockstep::data
