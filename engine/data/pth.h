// Files written by torch.save (.pth, .pt, .pth.tar), read without executing anything.
//
//   since PyTorch 1.6   a zip archive: NAME/data.pkl describes the object and refers to
//                       storages, NAME/data/KEY contains their bytes, and
//                       NAME/byteorder the order of these bytes
//   before              pickles one after the other: a magic number, the version, the
//                       system, the object, the keys of its storages; then for each
//                       key 8 bytes with the number of elements, and their bytes
//
// Source: PyTorch's torch/serialization.py.
#pragma once

#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/pickle.h"
#include "engine/data/safetensors.h"
#include "engine/data/zip_reader.h"

namespace lockstep::data {

/// Returns the tensor in row-major order; `bytes` are those of its storage. float16 and
/// bfloat16 become F32, other integers and booleans I64. Throws std::runtime_error,
/// without naming the file, if the tensor does not fit its storage.
TensorFileEntry contiguous(const std::string& name, const PickledTensor& tensor,
                           const PickledStorage& storage,
                           const std::vector<std::byte>& bytes);

/// Returns true if the file begins like one written by torch.save, whatever its name
/// is.
bool is_pth(const std::filesystem::path& path);

/// A file written by torch.save: keeps dicts, lists, numbers and texts in memory and
/// reads tensors on demand. Every error is a std::runtime_error with one line naming
/// the file and the fix.
class PthFile {
 public:
  explicit PthFile(const std::filesystem::path& path);
  /// Reads from a seekable stream; messages use `name` instead of a file name.
  PthFile(std::unique_ptr<std::istream> in, std::string name);

  const Pickle& content() const { return content_; }
  const PickledValue& root() const { return content_.at(content_.root); }

  struct Request {
    std::string name;
    size_t tensor;  ///< index in content().tensors
  };
  /// Returns the tensors, as `contiguous` does, in the order of the requests.
  std::vector<TensorFileEntry> read(const std::vector<Request>& requests);

  /// Throws the error for a file that is not what the caller needs.
  [[noreturn]] void refuse(const std::string& what, const std::string& fix) const;

 private:
  void open();
  void open_zip();
  void open_legacy();
  std::vector<std::byte> storage(const PickledStorage& storage);
  std::vector<TensorFileEntry> read_all(const std::vector<Request>& requests);

  std::unique_ptr<std::istream> in_;
  std::string name_;
  Pickle content_;
  std::optional<ZipReader> zip_;
  std::string folder_;                      ///< of a zip archive: `NAME/`
  std::map<std::string, uint64_t> places_;  ///< without one: offsets by key
};

}  // namespace lockstep::data
