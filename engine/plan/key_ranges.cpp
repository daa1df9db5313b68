#include "engine/plan/key_ranges.h"

#include <algorithm>

namespace lockstep::plan {

std::vector<KeyRange> key_ranges(int64_t keys, int servers) {
  std::vector<KeyRange> ranges;
  const int64_t share = keys / servers, rest = keys % servers;
  int64_t begin = 0;
  for (int server = 0; server < servers; ++server) {
    const int64_t end = begin + share + (server < rest ? 1 : 0);
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

std::vector<Piece> pieces_of(const KeyRange& range,
                             const std::vector<int64_t>& numels) {
  std::vector<Piece> pieces;
  int64_t first = 0;  // key of the tensor's first element
  for (size_t tensor = 0; tensor < numels.size(); ++tensor) {
    const int64_t begin = std::max(range.begin, first);
    const int64_t end = std::min(range.end, first + numels[tensor]);
    if (begin < end) {
      pieces.push_back({tensor, begin - first, end - begin, begin - range.begin});
    }
    first += numels[tensor];
  }
  return pieces;
}

}  // namespace lockstep::plan
