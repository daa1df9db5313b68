// rejected by: limits
// because: the first bucket's limit is 1 MiB
//
// The misconception: 1 MiB is taken for a million bytes.

// [solution-cut]
std::vector<plan::BucketItem> sizes = bucket_items(parameters);
std::reverse(sizes.begin(), sizes.end());
auto buckets = plan::assign_buckets(sizes, {std::min<int64_t>(1'000'000, cap), cap});
for (plan::Bucket& bucket : buckets) {
  for (size_t& number : bucket) number = parameters.size() - 1 - number;
}
return buckets;
// [/solution-cut]
