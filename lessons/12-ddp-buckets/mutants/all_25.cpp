// rejected by: limits
// because: only the others
//
// The misconception: all buckets are as large as the cap; the limit of the first one is
// a detail.

// [solution-cut]
std::vector<plan::BucketItem> sizes = bucket_items(parameters);
std::reverse(sizes.begin(), sizes.end());
auto buckets = plan::assign_buckets(sizes, {cap});
for (plan::Bucket& bucket : buckets) {
  for (size_t& number : bucket) number = parameters.size() - 1 - number;
}
return buckets;
// [/solution-cut]
