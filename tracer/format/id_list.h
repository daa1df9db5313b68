// Short lists of event ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace lockstep::tracer {

/// A list of ids, such as what an event waited for. One id needs no allocation.
class IdList {
 public:
  IdList() = default;
  IdList(std::initializer_list<int64_t> ids) { assign(ids.begin(), ids.end()); }
  IdList(const std::vector<int64_t>& ids) { assign(ids.begin(), ids.end()); }
  IdList(const IdList& other) { assign(other.begin(), other.end()); }
  IdList(IdList&& other) noexcept { swap(other); }
  IdList& operator=(IdList other) noexcept {
    swap(other);
    return *this;
  }
  ~IdList() {
    if (capacity_ > 1) delete[] many_;
  }

  template <typename Iterator>
  void assign(Iterator from, Iterator to) {
    clear();
    for (; from != to; ++from) push_back(*from);
  }

  void push_back(int64_t id) {
    if (size_ == capacity_) grow();
    data()[size_++] = id;
  }
  void clear() { size_ = 0; }

  template <typename Predicate>
  friend void erase_if(IdList& ids, Predicate gone) {
    ids.size_ = static_cast<uint32_t>(std::remove_if(ids.begin(), ids.end(), gone) -
                                      ids.begin());
  }

  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  const int64_t* begin() const { return capacity_ > 1 ? many_ : &one_; }
  const int64_t* end() const { return begin() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](size_t i) const { return begin()[i]; }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t& back() { return data()[size_ - 1]; }

  friend bool operator==(const IdList& a, const IdList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const IdList& a, const std::vector<int64_t>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  int64_t* data() { return capacity_ > 1 ? many_ : &one_; }

  void grow() {
    const uint32_t capacity = 2 * capacity_ + 2;
    auto* larger = new int64_t[capacity];
    std::copy(begin(), end(), larger);
    if (capacity_ > 1) delete[] many_;
    many_ = larger;
    capacity_ = capacity;
  }

  void swap(IdList& other) noexcept {
    std::swap(one_, other.one_);  // or the pointers: both have 64 bits
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  static_assert(sizeof(int64_t*) <= sizeof(int64_t));
  union {
    int64_t one_ = 0;
    int64_t* many_;
  };
  uint32_t size_ = 0, capacity_ = 1;
};

}  // namespace lockstep::tracer
