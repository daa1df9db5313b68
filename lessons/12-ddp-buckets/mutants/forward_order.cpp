// rejected by: cut_backwards
// because: Walk backwards
//
// The misconception: the first parameters come first. (So did a well-known library: its
// buckets were complete only at the end, and nothing overlapped.)

// [solution-cut]
return plan::assign_buckets(bucket_items(parameters),
                            {std::min(plan::kFirstBucketBytes, cap), cap});
// [/solution-cut]
