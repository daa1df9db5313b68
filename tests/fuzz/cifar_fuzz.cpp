// Any bytes as a CIFAR-10 file: a data set with readable samples, or a one-line error.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/data/cifar10.h"

using namespace lockstep::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  // The fuzzer does not construct 3073-byte records. Its bytes are used as labels and
  // each label is extended by a picture; or they are used unchanged.
  const bool whole = size > 0 && bytes[0] % 2 == 0;
  std::vector<uint8_t> records;
  for (size_t i = 1; whole && i < size; ++i) {
    records.push_back(bytes[i]);
    records.insert(records.end(), kCifar10Pixels, static_cast<uint8_t>(i * bytes[i]));
  }
  if (!whole) records.assign(bytes, bytes + size);

  try {
    const Cifar10 set(records, "fuzz", true);
    if (set.size() * kCifar10Record != static_cast<int64_t>(records.size())) abort();
    std::vector<float> image(kCifar10Pixels);
    for (int64_t i = 0; i < set.size(); ++i) {
      Draws draws(size, 0, i);
      const int64_t label = set.get(i, draws, image);
      if (label < 0 || label >= set.classes()) abort();
    }
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) abort();
  }
  return 0;
}
