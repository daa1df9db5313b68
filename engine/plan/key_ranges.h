// How parameter servers divide a model: each owns a contiguous range of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// The keys from `begin` to before `end`. A key is the index of an element among those
/// of all parameters, one parameter after the other.
struct KeyRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const KeyRange&) const = default;
};

/// Returns the range of each server: in order, without gaps, and of equal size up to
/// one key. A tensor may be divided among several servers; if tensors were kept whole,
/// one server would own the first linear layer of VGG16, which is 74 % of the model.
/// REQUIRES: keys ≥ 0, servers ≥ 1. Source of the rule: ps-lite,
/// `Postoffice::GetServerKeyRanges`.
std::vector<KeyRange> key_ranges(int64_t keys, int servers);

/// The part of a tensor that lies in a range.
struct Piece {
  size_t tensor = 0;              ///< its index
  int64_t begin = 0, length = 0;  ///< elements of that tensor
  int64_t offset = 0;             ///< of its first element, from the range's begin
  bool operator==(const Piece&) const = default;
};

/// Returns the pieces of tensors with these numbers of elements that lie in `range`, in
/// order. Tensors without elements have no pieces.
std::vector<Piece> pieces_of(const KeyRange& range, const std::vector<int64_t>& numels);

}  // namespace lockstep::plan
