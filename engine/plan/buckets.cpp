#include "engine/plan/buckets.h"
#include "engine/plan/first_bucket.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>

namespace lockstep::plan {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// The open bucket of one key.
struct Filling {
  int key;
  Bucket bucket;
  int64_t bytes = 0;
  size_t limit = 0;  // position in the list of limits
};

Filling& filling_of(int key, std::vector<Filling>& fillings) {
  const auto found = std::ranges::find(fillings, key, &Filling::key);
  return found != fillings.end() ? *found : fillings.emplace_back(Filling{key, {}});
}

std::vector<Bucket> fill(const std::vector<BucketItem>& tensors,
                         const std::vector<size_t>& order,
                         const std::vector<int64_t>& limits) {
  std::vector<Bucket> buckets;
  std::vector<Filling> fillings;
  for (const size_t i : order) {
    Filling& open = filling_of(tensors[i].key, fillings);
    open.bucket.push_back(i);
    open.bytes += tensors[i].bytes;
    if (open.bytes < limits[open.limit]) continue;
    buckets.push_back(std::exchange(open.bucket, {}));
    open.bytes = 0;
    open.limit = std::min(open.limit + 1, limits.size() - 1);
  }
  for (Filling& left : fillings | std::views::reverse) {
    if (!left.bucket.empty()) buckets.push_back(std::move(left.bucket));
  }
  return buckets;
}

}  // namespace

std::vector<Bucket> assign_buckets(const std::vector<BucketItem>& tensors,
                                   const std::vector<int64_t>& limits) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<Bucket> buckets = fill(tensors, order, limits);
  std::ranges::sort(buckets, {}, [](const Bucket& bucket) { return bucket.front(); });
  return buckets;
}

std::vector<Bucket> first_buckets(const std::vector<BucketItem>& parameters,
                                  BucketRule rule, bool find_unused_parameters,
                                  int64_t cap) {
  const bool guess = rule == BucketRule::torch_1_11 || find_unused_parameters;
  const std::vector<int64_t> guessed{kFirstBucketBytes, cap};
  auto buckets = assign_buckets(parameters, guess ? guessed : std::vector{kUnlimited});
  std::ranges::reverse(buckets);
  return buckets;
}

std::vector<Bucket> rebuilt_buckets(const std::vector<BucketItem>& parameters,
                                    const std::vector<size_t>& ready_order,
                                    int64_t cap) {
  return rebuilt_buckets_from(parameters, ready_order, kFirstBucketBytes, cap);
}

std::vector<Bucket> rebuilt_buckets_from(const std::vector<BucketItem>& parameters,
                                         const std::vector<size_t>& ready_order,
                                         int64_t first, int64_t cap) {
  return fill(parameters, ready_order, {first, cap});
}

}  // namespace lockstep::plan
