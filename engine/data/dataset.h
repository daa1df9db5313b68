// A data set with access by index, like PyTorch's map-style `torch.utils.data.Dataset`,
// and the batches that a loader makes of it.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/tensor/philox.h"

namespace lockstep::data {

/// The random draws for one sample in one epoch. They depend only on the seed, epoch
/// and index, so the augmentation of a sample does not depend on the number of workers
/// or on which worker loads it.
class Draws {
 public:
  Draws(uint64_t seed, int64_t epoch, int64_t index)
      : philox_{seed},
        stream_(fnv1a64("sample") + static_cast<uint64_t>(epoch)),
        position_(static_cast<uint64_t>(index) << 20) {}

  /// Returns the next draw, uniform in (0, 1).
  double uniform() { return philox_.uniform(position_++, stream_); }

  /// Returns the next draw, a uniform integer from 0 to bound - 1.
  int64_t integer(int64_t bound) { return static_cast<int64_t>(uniform() * bound); }

 private:
  Philox philox_;
  uint64_t stream_;
  uint64_t position_;
};

/// A sample that cannot be loaded, such as a damaged or deleted file. A run may be
/// configured to continue without it.
struct BadSample : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// All samples have the same shape. Const calls are thread-safe: the loader's workers
/// share the data set.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  virtual std::vector<int64_t> sample_shape() const = 0;  ///< C,H,W or F
  virtual int64_t classes() const = 0;

  /// Writes sample `index` to `image` (whose size is the product of `sample_shape`) and
  /// returns its label. Augmentation must take all randomness from `draws`. Throws
  /// BadSample if the sample cannot be loaded.
  virtual int64_t get(int64_t index, Draws& draws, std::span<float> image) const = 0;

  /// Returns the name of sample `index` for messages, such as its file path.
  virtual std::string describe(int64_t index) const {
    return "sample " + std::to_string(index);
  }
};

/// Allocates from a memory resource that moves with the container, unlike that of
/// std::pmr::polymorphic_allocator: a batch stays in the memory in which it was made.
template <typename T>
struct BatchAllocator {
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;

  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();

  BatchAllocator() = default;
  explicit BatchAllocator(std::pmr::memory_resource* resource) : memory(resource) {}
  template <typename U>
  explicit BatchAllocator(const BatchAllocator<U>& other) : memory(other.memory) {}

  T* allocate(size_t n) {
    return static_cast<T*>(memory->allocate(n * sizeof(T), alignof(T)));
  }
  void deallocate(T* data, size_t n) {
    memory->deallocate(data, n * sizeof(T), alignof(T));
  }
  bool operator==(const BatchAllocator&) const = default;
};
using Floats = std::vector<float, BatchAllocator<float>>;
using Bytes = std::vector<uint8_t, BatchAllocator<uint8_t>>;

/// The data loader's output: `shape[0]` consecutive samples in host memory.
struct Batch {
  std::vector<int64_t> shape;    ///< N,C,H,W for images; N,F for feature vectors
  Floats images;                 ///< row-major, product(shape)
  std::vector<int64_t> labels;   ///< N class indices
  std::vector<std::string> bad;  ///< why samples were omitted, if allowed

  /// With LoaderOptions::as_bytes, the images as bytes; `images` is then empty.
  Bytes bytes;

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

}  // namespace lockstep::data
