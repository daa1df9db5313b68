// Safetensors: named tensors in a file without executable code.
//
//   8 bytes        length of the header, little endian
//   header         JSON: {"name": {"dtype": "F32", "shape": [64, 3, 3, 3],
//                  "data_offsets": [begin, end]}, …}, space-padded to a multiple of 8
//   data           row-major, little endian; offsets count from here
//
// The format for exchanging weights with torchvision and PyTorch.
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

/// The header's `__metadata__`: strings indexed by key.
using Metadata = std::map<std::string, std::string>;

/// Reads all tensors in the order of the file's header; fills `metadata` if given.
///
/// Throws std::runtime_error with a one-line message naming the file, the tensor and
/// the fix unless the size of every tensor matches its dtype and shape, tensors tile
/// the data exactly, and names are unique.
std::vector<TensorFileEntry> read_safetensors(const std::filesystem::path& path,
                                              Metadata* metadata = nullptr);

/// Reads from a seekable stream; messages use `name` instead of a file name.
std::vector<TensorFileEntry> read_safetensors(std::istream& in, const std::string& name,
                                              Metadata* metadata = nullptr);

/// Reads only the metadata; the header is validated as above.
Metadata read_safetensors_metadata(const std::filesystem::path& path);

/// Atomically writes the tensors in order. Throws std::runtime_error for an entry that
/// the reader would reject, or if writing fails.
void write_safetensors(const std::filesystem::path& path,
                       const std::vector<TensorFileEntry>& entries,
                       const Metadata& metadata = {});

// Parsing and formatting of the header alone:

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
