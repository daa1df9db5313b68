// rejected by: traffic
// because: the whole tensor goes around
//
// The misconception: everybody's tensor travels once around, and everybody adds up what
// passes by. The sums are right; each rank sends N - 1 tensors.

// [solution-reduce-scatter]
std::vector<char> travelling(data.data ? data.bytes() : 0), arriving = travelling;
if (data.data)
  std::copy_n(static_cast<char*>(data.data), data.bytes(), travelling.data());
const auto buffer = [&](std::vector<char>& bytes) {
  return Buffer{data.data ? bytes.data() : nullptr, data.numel, data.dtype};
};
for (int step = 0; step < link.size() - 1; ++step) {
  link.exchange(buffer(travelling), buffer(arriving), false);
  for (int64_t i = 0; data.data && i < data.numel; ++i) {
    if (data.dtype == DType::f64) {
      static_cast<double*>(data.data)[i] +=
          reinterpret_cast<double*>(arriving.data())[i];
    } else if (data.dtype == DType::f32) {
      static_cast<float*>(data.data)[i] += reinterpret_cast<float*>(arriving.data())[i];
    }
  }
  std::swap(travelling, arriving);
}
return;
// [/solution-reduce-scatter]
// [solution-all-gather]
return;
// [/solution-all-gather]
