// Parses and formats the header of a safetensors file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"

namespace lockstep::data {

/// A tensor without its bytes, and the location of the bytes in the data.
struct TensorPlace {
  TensorFileEntry entry;
  uint64_t begin, end;
};

/// Parses the JSON text of a header for `data_size` bytes of data and performs all the
/// checks of `read_safetensors`. `file` is used in error messages.
std::vector<TensorPlace> parse_safetensors_header(const std::string& text,
                                                  uint64_t data_size,
                                                  const std::string& file,
                                                  Metadata* metadata);

/// Returns the header for these tensors stored contiguously, padded to a multiple of 8
/// bytes. Throws std::runtime_error without the file name.
std::string format_safetensors_header(const std::vector<TensorFileEntry>& entries,
                                      const Metadata& metadata);

}  // namespace lockstep::data
