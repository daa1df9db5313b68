// Safetensors: named tensors in a file, and nothing that could be executed.
//
//   8 bytes        length of the header, little endian
//   header         JSON: {"name": {"dtype": "F32", "shape": [64, 3, 3, 3],
//                  "data_offsets": [begin, end]}, …}, padded with spaces to 8 bytes
//   data           row-major, little endian; offsets count from here
//
// torchvision's weights travel to us and ours to PyTorch in this format.
// Source: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace lockstep::data {

struct TensorFileEntry {
  std::string name;
  std::string dtype;           ///< F32, F64 or I64
  std::vector<int64_t> shape;  ///< empty for a scalar
  std::vector<std::byte> data;

  bool operator==(const TensorFileEntry&) const = default;
};

/// The header's `__metadata__`: free text by key.
using Metadata = std::map<std::string, std::string>;

/// All tensors in the order of the file's header; fills `metadata` if given.
///
/// Trusts nothing: throws std::runtime_error, one line that names the file, the tensor
/// and the fix, unless every tensor's bytes fit its dtype and shape and the tensors
/// tile the data exactly (no overlap, no hole, no rest), and every name occurs once.
std::vector<TensorFileEntry> read_safetensors(const std::filesystem::path& path,
                                              Metadata* metadata = nullptr);

/// The same from a seekable stream; `name` stands for the file in messages.
std::vector<TensorFileEntry> read_safetensors(std::istream& in, const std::string& name,
                                              Metadata* metadata = nullptr);

/// The metadata alone, of a file whose header passes the same checks.
Metadata read_safetensors_metadata(const std::filesystem::path& path);

/// Writes the tensors in the order given; the file appears whole or not at all. Throws
/// std::runtime_error for an entry that the reader would refuse, or a failing disk.
void write_safetensors(const std::filesystem::path& path,
                       const std::vector<TensorFileEntry>& entries,
                       const Metadata& metadata = {});

}  // namespace lockstep::data
