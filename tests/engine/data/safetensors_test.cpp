// sanitize: address
#include "engine/data/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "tests/base/test_files.h"

namespace lockstep::data {
namespace {

template <typename Number>
TensorFileEntry tensor(std::string name, std::string dtype, std::vector<int64_t> shape,
                       std::vector<Number> numbers) {
  TensorFileEntry entry{std::move(name), std::move(dtype), std::move(shape), {}};
  entry.data.resize(numbers.size() * sizeof(Number));
  if (!numbers.empty()) {
    std::memcpy(entry.data.data(), numbers.data(), entry.data.size());
  }
  return entry;
}

/// Builds a file from its header and data.
std::string file_of(const std::string& header, const std::string& data = "") {
  const uint64_t size = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + data;
}

std::vector<TensorFileEntry> parse(const std::string& bytes,
                                   Metadata* metadata = nullptr) {
  std::istringstream in(bytes);
  return read_safetensors(in, "some.safetensors", metadata);
}

template <typename... Parts>
void expect_refused(const std::string& bytes, const Parts&... parts) {
  expect_error([&] { parse(bytes); }, "some.safetensors", "safetensors", parts...);
}

class Safetensors : public ScratchTest {
 protected:
  std::filesystem::path file_ = scratch_ / "weights.safetensors";
};

// The expected bytes are written out from the format's specification.
TEST_F(Safetensors, WritesTheFormat) {
  write_safetensors(file_, {tensor<float>("b", "F32", {1, 2}, {1.0f, -2.0f}),
                            tensor<int64_t>("a", "I64", {}, {258})});
  const std::string header =
      R"({"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  const std::string data("\0\0\x80\x3f\0\0\0\xc0\x02\x01\0\0\0\0\0\0", 16);
  EXPECT_EQ(read_file(file_), file_of(header + padding, data));
  EXPECT_EQ((header + padding).size() % 8, 0u);
}

TEST_F(Safetensors, ReadsWhatItWrote) {
  const std::vector<TensorFileEntry> entries{
      tensor<float>("layer1.0.conv1.weight", "F32", {2, 1, 3}, {1, 2, 3, 4, 5, 6}),
      tensor<double>("running", "F64", {2}, {1e300, -0.0}),
      tensor<int64_t>("bn1.num_batches_tracked", "I64", {}, {-1}),
      tensor<float>("empty", "F32", {0, 7}, {}),
      tensor<float>("schön \"quoted\"\n", "F32", {1}, {7})};
  const Metadata metadata{{"epoch", "3"}, {"format", "pt"}};
  write_safetensors(file_, entries, metadata);
  Metadata got;
  EXPECT_EQ(read_safetensors(file_, &got), entries) << "in file order";
  EXPECT_EQ(got, metadata);
  EXPECT_EQ(read_safetensors(file_), entries);

  write_safetensors(file_, {});
  EXPECT_TRUE(read_safetensors(file_, &got).empty());
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(listing(), std::vector<std::string>{"weights.safetensors"});
}

// Other writers use a different key order, and may list tensors in a different order
// than their data.
TEST(SafetensorsReader, AcceptsOtherOrders) {
  const auto entries = parse(file_of(
      R"({"b":{"shape":[1],"data_offsets":[8,12],"dtype":"F32"},)"
      R"("a":{"data_offsets":[0,8],"dtype":"F64","shape":[1,1]},"__metadata__":{}}   )",
      "01234567abcd"));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "b");
  EXPECT_EQ(std::memcmp(entries[0].data.data(), "abcd", 4), 0);
  EXPECT_EQ(std::memcmp(entries[1].data.data(), "01234567", 8), 0);
}

TEST(SafetensorsReader, RefusesWhatIsNoSafetensorsFile) {
  expect_refused("", "shorter than 8 bytes");
  expect_refused("1234567", "shorter than 8 bytes");
  expect_refused(std::string(8, '\xff') + "{}", "18446744073709551615 bytes",
                 "2 bytes follow");
  expect_refused(file_of("{}").substr(0, 9), "a header of 2 bytes, but 1 bytes follow");
  expect_refused(file_of("not JSON"), "not JSON");
  expect_refused(file_of(""), "not JSON");
  expect_refused(file_of(R"({"a":)"), "not JSON");
  expect_refused(file_of("{} {}"), "not JSON");
  expect_refused(file_of("{\"\xff\":1}"), "not JSON");
  expect_refused(file_of("[1]"), "not a JSON object");
  expect_refused(file_of("7"), "not a JSON object");
  expect_refused(file_of(std::string(100'000, '[')), "not JSON");
}

TEST(SafetensorsReader, RefusesIncompleteTensors) {
  auto with = [](const std::string& value) {
    return file_of(R"({"w":)" + value + "}");
  };
  expect_refused(with("7"), R"("w")", "not described by a JSON object");
  expect_refused(with(R"({"shape":[],"data_offsets":[0,0]})"), R"("w")", "no dtype");
  expect_refused(with(R"({"dtype":4,"shape":[],"data_offsets":[0,0]})"), "no dtype");
  expect_refused(with(R"({"dtype":"F32","data_offsets":[0,0]})"), R"("w")",
                 "no integer shape");
  for (const char* shape : {"7", "[-1]", "[1.5]", "[\"1\"]", "[9223372036854775808]",
                            "[1e3]", "[[1]]", "{}", "null"}) {
    expect_refused(with(R"({"dtype":"F32","data_offsets":[0,0],"shape":)" +
                        std::string(shape) + "}"),
                   R"("w")", "no integer shape");
  }
  for (const char* offsets : {"7", "[]", "[0]", "[0,0,0]", "[-1,3]", "[0,\"4\"]",
                              "[0,18446744073709551616]", "{}"}) {
    expect_refused(with(R"({"dtype":"F32","shape":[0],"data_offsets":)" +
                        std::string(offsets) + "}"),
                   R"("w")", "no data_offsets");
  }
}

std::string one(const std::string& dtype, const std::string& shape,
                const std::string& offsets) {
  return R"("w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

TEST(SafetensorsReader, RefusesBytesThatDoNotFit) {
  auto with = [](const std::string& entry) {
    return file_of("{" + entry + "}", std::string(8, 'x'));
  };
  EXPECT_EQ(parse(with(one("F32", "[2]", "[0,8]"))).size(), 1u);
  expect_refused(with(one("F32", "[3]", "[0,8]")), R"("w")", "8 bytes", "F32", "[3]");
  expect_refused(with(one("F64", "[2]", "[0,8]")), R"("w")", "F64");
  expect_refused(with(one("F32", "[2]", "[8,0]")), R"("w")", "ends before it begins");
  expect_refused(with(one("F32", "[3]", "[0,12]")), R"("w")", "byte 12 of 8",
                 "truncated");
  expect_refused(with(one("F32", "[1]", "[4,8]")), R"("w")", "gap before");
  expect_refused(with(one("F32", "[1]", "[0,4]")), "4 bytes belong to no tensor");
  expect_refused(with(""), "8 bytes belong to no tensor");
  // 2^62 · 2^62 · 4 and 2^62 · 4 both overflow to 0 in 64 bits.
  const std::string huge = "4611686018427387904";
  expect_refused(with(one("F32", "[" + huge + "]", "[0,0]")), R"("w")", "0 bytes");
  expect_refused(with(one("F32", "[" + huge + "," + huge + "]", "[0,0]")), "0 bytes");
  expect_error([&] { parse(with(one("BF16", "[4]", "[0,8]"))); }, R"("w")", "BF16",
               "convert it to F32");
}

TEST(SafetensorsReader, RefusesOverlapsAndDuplicates) {
  auto entry = [](const std::string& name, const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":"F32","shape":[2],"data_offsets":)" + offsets +
           "}";
  };
  const std::string data(12, 'x');
  expect_refused(
      file_of("{" + entry("a", "[0,8]") + "," + entry("b", "[4,12]") + "}", data),
      R"("b")", "overlaps");
  expect_refused(
      file_of("{" + entry("a", "[0,8]") + "," + entry("b", "[0,8]") + "}", data),
      "overlaps");
  expect_refused(
      file_of("{" + entry("a", "[0,8]") + "," + entry("a", "[4,12]") + "}", data),
      R"(two tensors are named "a")");
}

TEST(SafetensorsReader, RefusesMetadataThatIsNoText) {
  expect_refused(file_of(R"({"__metadata__":{"epoch":3}})"), "__metadata__");
  expect_refused(file_of(R"({"__metadata__":"x"})"), "__metadata__");
}

TEST_F(Safetensors, NamesTheFileThatCannotBeRead) {
  expect_error([&] { read_safetensors(scratch_ / "gone"); }, "gone", "cannot be read",
               "No such file");
  expect_error([&] { read_safetensors(scratch_); }, scratch_.string(), "is a folder");
}

TEST_F(Safetensors, WritesNothingThatItWouldNotRead) {
  auto writing = [&](std::vector<TensorFileEntry> entries) {
    return [=, this] { write_safetensors(file_, entries); };
  };
  const auto good = tensor<float>("w", "F32", {1}, {1});
  auto wrong = good;
  wrong.shape = {2};
  expect_error(writing({wrong}), file_.string(), R"("w")", "4 bytes", "[2]");
  wrong = good;
  wrong.dtype = "F16";
  expect_error(writing({wrong}), R"("w")", "F16");
  wrong = good;
  wrong.name = "__metadata__";
  expect_error(writing({wrong}), "duplicate name", "__metadata__");
  expect_error(writing({good, good}), "duplicate name", R"("w")");
  wrong.name = "\xff";
  expect_error(writing({wrong}), "UTF-8");
  EXPECT_EQ(listing(), std::vector<std::string>{});
}

}  // namespace
}  // namespace lockstep::data
