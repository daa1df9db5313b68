// The parser of frames: any bytes are a frame, an incomplete frame, or garbage.
// sanitize: address
#include "engine/distributed/rendezvous/frame.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/base/test_files.h"
#include "tests/engine/distributed/rendezvous/raw_client.h"

namespace lockstep::distributed::store {
namespace {

using State = Parsed::State;

TEST(StoreFrame, HasTheBytesThatItsHeaderDescribes) {
  const std::string bytes = encode({Op::set, {"k", "vw"}});
  EXPECT_EQ(bytes, std::string("LKS3"
                               "\1\0\0\0"
                               "\13\0\0\0"
                               "\1\0\0\0k"
                               "\2\0\0\0vw",
                               23));
}

TEST(StoreFrame, SurvivesTheJourney) {
  const Frame frame{Op::wait, {"5000", "", std::string("\0\xff", 2), "key"}};
  const std::string bytes = encode(frame);
  const Parsed parsed = parse_frame(bytes + "LKS3 and more");
  ASSERT_EQ(parsed.state, State::whole);
  EXPECT_EQ(parsed.frame.op, frame.op);
  EXPECT_EQ(parsed.frame.fields, frame.fields);
  EXPECT_EQ(parsed.consumed, bytes.size());
}

TEST(StoreFrame, EveryBeginningIsIncomplete) {
  const std::string bytes = encode({Op::set, {"key", "value"}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(parse_frame(bytes.substr(0, size)).state, State::incomplete) << size;
  }
}

void expect_garbage(const std::string& bytes, const std::string& reason) {
  const Parsed parsed = parse_frame(bytes);
  EXPECT_EQ(parsed.state, State::garbage);
  EXPECT_EQ(parsed.reason, reason);
}

TEST(StoreFrame, GarbageIsToldAtOnce) {
  expect_garbage("G", "no frame header");
  expect_garbage("LKS1", "no frame header");
  expect_garbage(std::string("LKS3\21\0\0\0\0\0\0\0", 12), "unknown operation 17");
  expect_garbage(std::string("LKS3\1\0\0\0\1\0\20\0", 12),
                 "a frame of 1048577 bytes, above the limit of 1048576");
  expect_garbage(std::string("LKS3\1\0\0\0\377\377\377\377", 12),
                 "a frame of 4294967295 bytes, above the limit of 1048576");
  const std::string five("LKS3\1\0\0\0\5\0\0\0", 12);
  expect_garbage(five + std::string("\2\0\0\0x", 5),
                 "a field is longer than its frame");
  expect_garbage(five + std::string("\377\377\377\377x", 5),
                 "a field is longer than its frame");
  expect_garbage(five + std::string("\0\0\0\0x", 5),
                 "a field is longer than its frame");
}

TEST(StoreFrame, HoldsAMebibyteAndNoMore) {
  const std::string most(kMaxBody - 4, 'x');
  EXPECT_EQ(parse_frame(encode({Op::done, {most}})).frame.fields[0], most);
  expect_error([&] { encode({Op::done, {most + "x"}}); }, "1048577", "1048576");
}

// Encoding a parsed frame gives the bytes that it was parsed from.
TEST(StoreFrame, AnyBytesAreParsed) {
  std::mt19937 random(20240501);
  int wholes = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random_bytes(random);
    const Parsed parsed = parse_frame(bytes);
    EXPECT_EQ(parsed.reason.empty(), parsed.state != State::garbage);
    if (parsed.state != State::whole) continue;
    EXPECT_EQ(encode(parsed.frame), bytes.substr(0, parsed.consumed));
    ++wholes;
  }
  EXPECT_GT(wholes, 1000);
}

}  // namespace
}  // namespace lockstep::distributed::store
