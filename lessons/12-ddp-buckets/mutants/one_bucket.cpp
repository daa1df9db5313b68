// rejected by: cut_backwards
// because: close a bucket when it reaches the cap
//
// The misconception: one message is the cheapest. It leaves when backward is over.

// [solution-cut]
plan::Bucket all;
for (size_t p = parameters.size(); p-- > 0;) all.push_back(p);
return {all};
// [/solution-cut]
