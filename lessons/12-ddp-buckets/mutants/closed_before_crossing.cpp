// rejected by: limits
// because: a gradient that crosses the limit still belongs to
//
// The misconception: a gradient that would cross the limit opens the next bucket, so
// that no bucket is larger than its limit.

// [solution-cut]
const std::vector<plan::BucketItem> sizes = bucket_items(parameters);
std::vector<plan::Bucket> buckets(1);
int64_t bytes = 0;
for (size_t n = sizes.size(); n > 0; --n) {
  const int64_t limit =
      buckets.size() == 1 ? std::min(plan::kFirstBucketBytes, cap) : cap;
  if (!buckets.back().empty() && bytes + sizes[n - 1].bytes > limit) {
    buckets.emplace_back();
    bytes = 0;
  }
  buckets.back().push_back(n - 1);
  bytes += sizes[n - 1].bytes;
}
return buckets;
// [/solution-cut]
