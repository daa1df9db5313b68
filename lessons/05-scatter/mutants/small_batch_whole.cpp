// rejected by: nine_over_four
// because: one for each of the first
//
// The misconception: a batch with fewer samples than devices is not worth cutting.

// [solution-sizes]
if (batch < devices) return {batch};
const int64_t size = (batch + devices - 1) / devices;
std::vector<int64_t> sizes;
for (int64_t left = batch; left > 0; left -= size) {
  sizes.push_back(std::min(size, left));
}
return sizes;
// [/solution-sizes]
