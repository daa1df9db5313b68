// sanitize: address thread
#include "tracer/record/arena.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep::tracer {
namespace {

TEST(Arena, NothingMovesAndPlacesCountWhatCameBefore) {
  Arena<int64_t> arena(BlockKind::lists);
  EXPECT_EQ(arena.size(), 0u);
  std::vector<std::pair<uint32_t, size_t>> parts;  // position, count
  std::vector<const int64_t*> where;
  int64_t next = 0;
  for (size_t count = 0; count < 900; ++count) {  // many partially filled blocks
    std::vector<int64_t> values(count);
    std::iota(values.begin(), values.end(), next);
    EXPECT_EQ(arena.append(values), next);
    parts.emplace_back(next, count);
    where.push_back(arena.at(parts.back().first, count).data());
    next += static_cast<int64_t>(count);
  }
  EXPECT_EQ(arena.size(), static_cast<size_t>(next));
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto values = arena.at(parts[i].first, parts[i].second);
    ASSERT_EQ(values.size(), parts[i].second);
    ASSERT_EQ(values.data(), where[i]);
    for (size_t j = 0; j < values.size(); ++j) ASSERT_EQ(values[j], parts[i].first + j);
  }
  int64_t visited = 0;
  arena.for_each([&](int64_t value) { EXPECT_EQ(value, visited++); });
  EXPECT_EQ(visited, next);
}

TEST(Arena, TakesMoreAtOnceThanABlockHolds) {
  Arena<char> arena(BlockKind::notes);
  const std::vector<char> much(1 << 20, 'x');
  arena.append({"ab", 2});
  EXPECT_EQ(arena.append(much), 2u);
  EXPECT_EQ(arena.append({"c", 1}), 2u + (1 << 20));
  EXPECT_EQ(arena.at(2, much.size()).back(), 'x');
  EXPECT_EQ(arena.at(2 + (1 << 20), 1)[0], 'c');
}

}  // namespace
}  // namespace lockstep::tracer
