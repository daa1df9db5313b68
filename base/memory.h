// Large blocks of memory on huge pages.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

inline constexpr size_t kHugePage = size_t{2} << 20;

/// Asks the kernel to back each aligned 2 MiB range that lies completely within the
/// block with one huge page, which saves 511 of 512 page faults. Must be called before
/// the memory is used. This is a hint: if the kernel ignores it, nothing changes.
inline void use_huge_pages(void* begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t first = (at + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (at + bytes) / kHugePage * kHugePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

/// Same as `vector.reserve(count)`, on huge pages.
template <typename T>
void reserve_huge(std::vector<T>& vector, size_t count) {
  if (count <= vector.capacity()) return;
  vector.reserve(count);
  T* const unused = vector.data() + vector.size();
  use_huge_pages(unused, (vector.capacity() - vector.size()) * sizeof(T));
}

}  // namespace lockstep
