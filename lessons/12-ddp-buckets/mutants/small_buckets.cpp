// rejected by: in_flight
// because: the limit is `cap`
//
// The misconception: if small buckets start early, smaller ones overlap better.

// [solution-cut]
std::vector<plan::BucketItem> sizes = bucket_items(parameters);
std::reverse(sizes.begin(), sizes.end());
auto buckets = plan::assign_buckets(sizes, {std::min(plan::kFirstBucketBytes, cap)});
for (plan::Bucket& bucket : buckets) {
  for (size_t& number : bucket) number = parameters.size() - 1 - number;
}
return buckets;
// [/solution-cut]
