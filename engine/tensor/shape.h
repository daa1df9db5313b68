// The sizes of a tensor, stored inline because every enqueued kernel holds copies.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep {

/// At most 5 dimensions; compared by value. The logical order is NCHW.
class Shape {
 public:
  static constexpr int kMaxRank = 5;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : Shape(sizes.begin(), sizes.end()) {}
  explicit Shape(const std::vector<int64_t>& sizes)
      : Shape(sizes.data(), sizes.data() + sizes.size()) {}

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return sizes_[i]; }
  int64_t& operator[](int i) { return sizes_[i]; }
  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + rank_; }
  bool operator==(const Shape&) const = default;

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t size : *this) n *= size;
    return n;
  }

  /// Returns a string such as `[15, 5]`.
  std::string str() const {
    std::string text = "[";
    for (int i = 0; i < rank_; ++i) {
      text += (i ? ", " : "") + std::to_string(sizes_[i]);
    }
    return text + "]";
  }

 private:
  Shape(const int64_t* begin, const int64_t* end) {
    if (end - begin > kMaxRank) throw std::runtime_error("shape: more than 5 dims");
    for (; begin != end; ++begin) sizes_[rank_++] = *begin;
  }

  std::array<int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

}  // namespace lockstep
