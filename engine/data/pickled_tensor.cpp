// Converts the strided tensors of a pickle to contiguous ones.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "engine/data/pth.h"

namespace lockstep::data {
namespace {

/// Returns the number of elements; −1 if one lies outside the storage, or if there are
/// more than the storage has: an expanded tensor, for which a small file could
/// demand any amount of memory.
int64_t checked_numel(const PickledTensor& t, const PickledStorage& storage) {
  int64_t numel = 1, last = t.offset;
  bool fits = t.shape.size() == t.stride.size() && t.offset >= 0;
  for (size_t i = 0; fits && i < t.shape.size(); ++i) {
    int64_t way = 0;
    fits = t.shape[i] >= 0 && t.stride[i] >= 0 &&
           !__builtin_mul_overflow(numel, t.shape[i], &numel) &&
           !__builtin_mul_overflow(std::max<int64_t>(t.shape[i] - 1, 0), t.stride[i],
                                   &way) &&
           !__builtin_add_overflow(last, way, &last);
  }
  const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
  if (fits && (empty || (last < storage.numel && numel <= storage.numel))) {
    return empty ? 0 : numel;
  }
  return -1;
}

float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000 | fraction << 13);
  if (exponent > 0) {
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }
  const float tiny = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -tiny : tiny;
}

/// Calls `visit(position)` for each element in row-major order.
template <typename Visit>
void for_each_position(const PickledTensor& t, int64_t numel, Visit visit) {
  std::vector<int64_t> index(t.shape.size());
  int64_t position = t.offset;
  for (int64_t done = 0; done < numel; ++done) {
    visit(position);
    for (size_t i = index.size(); i-- > 0;) {
      if (++index[i] < t.shape[i]) {
        position += t.stride[i];
        break;
      }
      position -= (t.shape[i] - 1) * t.stride[i];
      index[i] = 0;
    }
  }
}

template <typename From, typename To>
void gather(const PickledTensor& t, const std::vector<std::byte>& storage,
            TensorFileEntry& entry, To (*convert)(From)) {
  const auto numel = static_cast<int64_t>(entry.data.size() / sizeof(To));
  std::byte* to = entry.data.data();
  for_each_position(t, numel, [&](int64_t position) {
    From from;
    std::memcpy(&from, storage.data() + position * static_cast<int64_t>(sizeof from),
                sizeof from);
    const To value = convert(from);
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  });
}

template <typename From>
void gather_integers(const PickledTensor& t, const std::vector<std::byte>& storage,
                     TensorFileEntry& entry) {
  gather<From, int64_t>(t, storage, entry, [](From v) { return int64_t{v}; });
}

/// Fills `entry.data`, which has the right size.
void gather(const PickledTensor& t, StorageType type,
            const std::vector<std::byte>& storage, TensorFileEntry& entry) {
  switch (type) {
    case StorageType::f32:
      return gather<float, float>(t, storage, entry, [](float v) { return v; });
    case StorageType::f64:
      return gather<double, double>(t, storage, entry, [](double v) { return v; });
    case StorageType::f16:
      return gather<uint16_t, float>(t, storage, entry, from_half);
    case StorageType::bf16:
      return gather<uint16_t, float>(t, storage, entry, [](uint16_t v) {
        return std::bit_cast<float>(uint32_t{v} << 16);
      });
    case StorageType::i64:
      return gather_integers<int64_t>(t, storage, entry);
    case StorageType::i32:
      return gather_integers<int32_t>(t, storage, entry);
    case StorageType::i16:
      return gather_integers<int16_t>(t, storage, entry);
    case StorageType::i8:
      return gather_integers<int8_t>(t, storage, entry);
    case StorageType::u8:
    case StorageType::boolean:
      return gather_integers<uint8_t>(t, storage, entry);
  }
}

}  // namespace

int64_t item_size(StorageType type) {
  switch (type) {
    case StorageType::f64:
    case StorageType::i64:
      return 8;
    case StorageType::f32:
    case StorageType::i32:
      return 4;
    case StorageType::f16:
    case StorageType::bf16:
    case StorageType::i16:
      return 2;
    default:
      return 1;
  }
}

TensorFileEntry contiguous(const std::string& name, const PickledTensor& tensor,
                           const PickledStorage& storage,
                           const std::vector<std::byte>& bytes) {
  const int64_t numel = checked_numel(tensor, storage);
  if (numel < 0) {
    throw std::runtime_error(fmt::format(
        "tensor '{}' does not fit its storage, or is expanded", printable_text(name)));
  }
  const bool is_float = storage.type <= StorageType::f64;
  const bool wide = storage.type == StorageType::f64 || !is_float;
  TensorFileEntry entry{
      name, is_float ? (wide ? "F64" : "F32") : "I64", tensor.shape, {}};
  entry.data.resize(static_cast<size_t>(numel) * (wide ? 8 : 4));
  gather(tensor, storage.type, bytes, entry);
  return entry;
}

}  // namespace lockstep::data
