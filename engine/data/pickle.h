// Python's pickle format, as far as torch.save needs it for tensors and plain values.
//
// A pickle is a program for a machine with a stack and a memo; Python's `pickle` calls
// any function that it names. This machine calls none: the few names that PyTorch's
// files need form a fixed list, each with its own meaning, and any other name is
// refused. Source: Lib/pickletools.py, PyTorch's torch/serialization.py.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

/// The element types of PyTorch's storages.
enum class StorageType { f16, bf16, f32, f64, i64, i32, i16, i8, u8, boolean };

/// Returns the size of an element in bytes.
int64_t item_size(StorageType type);

struct PickledStorage {
  std::string key;  ///< the name of its bytes in the file
  StorageType type = StorageType::f32;
  int64_t numel = 0;
};

/// A strided view of a storage. Not checked against the storage's size.
struct PickledTensor {
  size_t storage = 0;  ///< index in Pickle::storages
  int64_t offset = 0;  ///< in elements
  std::vector<int64_t> shape, stride;
};

struct PickledValue {
  enum class Kind {
    none,
    boolean,
    integer,
    real,
    text,
    tuple,
    list,
    dict,
    tensor,
    storage,
    array,  ///< of numpy; items: shape, dtype, whether in Fortran's order, bytes
    dtype,  ///< of numpy; text: `u1`
    name,   ///< of the fixed list
  };
  Kind kind = Kind::none;
  int64_t integer = 0;  ///< boolean, integer; index of a tensor, storage or name
  double real = 0;
  std::string text;             ///< or bytes
  std::vector<uint32_t> items;  ///< of a dict: key, value, key, value, …
};

/// Values refer to others by index, since lists and dicts can contain themselves.
struct Pickle {
  std::deque<PickledValue> values;
  std::vector<PickledTensor> tensors;
  std::vector<PickledStorage> storages;
  uint32_t root = 0;
  size_t bytes = 0;  ///< length of the program

  const PickledValue& at(uint32_t index) const { return values[index]; }
  /// Returns the value of a text key of `dict`; null if there is none, or if `dict` is
  /// not a dict. If keys are equal, the last one wins, as in Python.
  const PickledValue* find(const PickledValue& dict, std::string_view key) const;
};

/// What a pickle may name besides plain values.
enum class Pickled : uint8_t { tensors, arrays };

/// Interprets one pickle at the start of `program`, which may be followed by other
/// bytes. Throws std::runtime_error with one line, which does not name the file, for a
/// damaged pickle and for one that names anything but plain values and tensors, or
/// arrays of numpy.
Pickle read_pickle(std::string_view program, Pickled pickled = Pickled::tensors);

/// Returns text from a file as one short printable line.
std::string printable_text(std::string text);

}  // namespace lockstep::data
