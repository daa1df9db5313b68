// Any bytes as a safetensors file: tensors whose bytes fit their shapes and that
// survive a round trip, or a one-line error.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>

#include "engine/data/safetensors.h"

using namespace lockstep::data;

static void read_and_write_again(const std::string& bytes) {
  Metadata metadata, metadata_again;
  std::istringstream in(bytes);
  const auto entries = read_safetensors(in, "fuzz", &metadata);

  const std::string header = format_safetensors_header(entries, metadata);
  const uint64_t header_size = header.size();
  std::string copy(8, '\0');
  std::memcpy(copy.data(), &header_size, 8);
  copy += header;
  for (const auto& entry : entries) {
    copy.append(reinterpret_cast<const char*>(entry.data.data()), entry.data.size());
  }
  std::istringstream again(copy);
  const auto same = read_safetensors(again, "written", &metadata_again);
  if (same.size() != entries.size() || metadata != metadata_again) abort();
  for (size_t i = 0; i < same.size(); ++i) {
    const auto &a = entries[i], &b = same[i];
    if (a.name != b.name || a.dtype != b.dtype || a.shape != b.shape) abort();
    if (a.data != b.data) abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  // Every second input is only a header, so that the fuzzer need not guess its length.
  std::string file(reinterpret_cast<const char*>(bytes), size);
  if (size > 1 && bytes[0] % 2 == 0) {
    const uint64_t data_size = std::min<size_t>(bytes[1], size - 2);
    const uint64_t header_size = size - 2 - data_size;
    file.replace(0, 2, reinterpret_cast<const char*>(&header_size), 8);
  }
  try {
    read_and_write_again(file);
  } catch (const std::runtime_error& error) {
    const std::string message = error.what();
    if (message.find('\n') != std::string::npos || message.empty()) abort();
    if (message.starts_with("written")) abort();  // our own file was rejected
  }
  return 0;
}
