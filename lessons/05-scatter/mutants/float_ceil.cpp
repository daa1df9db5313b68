// rejected by: any_size
// because: a float has 24 bits and cannot hold this
//
// The misconception: the ceil goes through float, which has 24 bits: large batches get
// a wrong size.

// [top]
#include <cmath>

// [/top]

// [solution-sizes]
const auto size = static_cast<int64_t>(
    std::ceil(static_cast<float>(batch) / static_cast<float>(devices)));
std::vector<int64_t> sizes;
for (int64_t left = batch; left > 0; left -= size) {
  sizes.push_back(std::min(size, left));
}
return sizes;
// [/solution-sizes]
