// Files of torch.save against the numbers that PyTorch reads from them
// (make_pth_golden.py), and damaged ones.
// sanitize: address
#include "engine/data/pth.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/base/test_files.h"
#include "tests/engine/data/pth_golden.h"

namespace lockstep::data {
namespace {

using namespace std::string_literals;  // for texts that contain zeros

PthFile parse_pth(const std::string& bytes) {
  return {std::make_unique<std::istringstream>(bytes), "some.pth"};
}

/// Returns the tensors of a dict of tensors.
std::vector<TensorFileEntry> read_everything(PthFile& file) {
  std::vector<PthFile::Request> requests;
  const Pickle& content = file.content();
  for (size_t i = 0; i + 1 < file.root().items.size(); i += 2) {
    const PickledValue& value = content.at(file.root().items[i + 1]);
    if (value.kind != PickledValue::Kind::tensor) continue;
    requests.push_back(
        {content.at(file.root().items[i]).text, static_cast<size_t>(value.integer)});
  }
  return file.read(requests);
}

std::vector<TensorFileEntry> read_everything(const std::string& bytes) {
  PthFile file = parse_pth(bytes);
  return read_everything(file);
}

template <typename... Parts>
void expect_pth_refused(const std::string& bytes, const Parts&... parts) {
  expect_error([&] { read_everything(bytes); }, "some.pth: ", "; fix: ", parts...);
}

TEST(PthFile, ReadsEveryTypeAndStrideAsPyTorch) {
  for (const char* name :
       {"types.pth", "legacy.pth", "protocol4.pth", "deflated.pth"}) {
    SCOPED_TRACE(name);
    PthFile file(pth_golden_path(name));
    const auto entries = read_everything(file);
    EXPECT_EQ(entries.size(), pth_golden()["types"].size());
    for (const TensorFileEntry& entry : entries) {
      expect_pth_golden(entry, pth_golden()["types"][entry.name]);
    }
  }
}

TEST(PthFile, IsKnownByItsFirstBytes) {
  EXPECT_TRUE(is_pth(pth_golden_path("types.pth")));
  EXPECT_TRUE(is_pth(pth_golden_path("legacy.pth")));
  EXPECT_FALSE(is_pth(pth_golden_path("pth.json")));
  EXPECT_FALSE(is_pth(pth_golden_path("absent.pth")));
}

TEST(PthFile, RefusesByNameWhatIsNotDataOnly) {
  const auto refused = [](const char* name, auto... parts) {
    expect_pth_refused(read_file(pth_golden_path(name)), parts...);
  };
  refused("module.pth", "contains torch.nn.modules.linear.Linear",
          "tools/convert_weights.py");
  refused("expanded.pth", "tensor 'w' does not fit its storage, or is expanded");
  refused("big_endian.pth", "big-endian");
  expect_error([] { PthFile(pth_golden_path("absent.pth")); }, "absent.pth",
               "No such file", "; fix: ");
  expect_pth_refused("", "was not written by torch.save");
  expect_pth_refused("{\"a\": 1}", "was not written by torch.save");
}

// A zip archive has checksums: whatever is accepted is what was written.
TEST(PthFile, DamagedFilesAreRefusedOrUnchanged) {
  for (const char* name : {"number.pth", "deflated.pth"}) {
    SCOPED_TRACE(name);
    const std::string good = read_file(pth_golden_path(name));
    const auto content = read_everything(good);
    for (size_t size = 0; size < good.size(); ++size) {
      expect_pth_refused(good.substr(0, size));
    }
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
      try {
        EXPECT_EQ(read_everything(bad), content) << "byte " << i;
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
  }
}

// The older format has none, so damaged numbers are not noticed, but sizes are.
TEST(PthFile, DamagedLegacyFilesAreReadOrRefused) {
  const std::string good = read_file(pth_golden_path("legacy.pth"));
  for (size_t size = 0; size < good.size(); ++size) {
    expect_pth_refused(good.substr(0, size));
  }
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      try {
        read_everything(bad);
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
  }
}

/// A pickle's instructions for a float tensor of `dims` dimensions, one element each,
/// in the storage `0`, of which they say that it has `numel` elements.
std::string tensor_program(int dims, int64_t numel) {
  std::string count(8, '\0'), ones;
  std::memcpy(count.data(), &numel, sizeof numel);
  for (int i = 0; i < dims; ++i) ones += "K\x01";
  return "ctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\n"
         "U\x01"
         "0U\x03"
         "cpu\x8a\x08"s +
         count + "NtQK\0("s + ones + "t(" + ones +
         "t\x89"
         "ccollections\nOrderedDict\n)RtR";
}

/// A file in the format before PyTorch 1.6 with these instructions for a dict, and the
/// storage `0`, of one number.
std::string legacy_file(const std::string& dict) {
  return "\x80\x02\x8a\x0al\xfc\x9c"
         "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.\x80\x02"s +
         dict +
         ".\x80\x02]U\x01"
         "0a.\x01\0\0\0\0\0\0\0\0\0\x80?"s;
}

TEST(PthFile, AStorageDescribedTwiceHasTheLargerSize) {
  const auto file = [](int64_t first, int64_t second) {
    return legacy_file(
        "}(U\x01"
        "a"s +
        tensor_program(1, first) +
        "U\x01"
        "b" +
        tensor_program(1, second) + "u");
  };
  const auto entries = read_everything(file(1, 1));
  ASSERT_EQ(entries.size(), 2u);
  float value = 0;
  std::memcpy(&value, entries[1].data.data(), sizeof value);
  EXPECT_EQ(value, 1.0f);
  expect_pth_refused(file(int64_t{1} << 50, 1), "is truncated");
  expect_pth_refused(file(1, int64_t{1} << 50), "is truncated");
}

/// Overwrites the number at the `index`-th directory entry's `offset`.
std::string with_directory(std::string zip, int index, size_t offset, uint32_t value) {
  size_t at = 0;
  for (int i = 0; i <= index; ++i) at = zip.find("PK\x01\x02", at + 1);
  std::memcpy(zip.data() + at + offset, &value, sizeof value);
  return zip;
}

TEST(ZipReader, TrustsNoSizeAndNoOffset) {
  const std::string good = read_file(pth_golden_path("deflated.pth"));
  const auto changed = [&](size_t offset, uint32_t value) {
    return with_directory(good, 1, offset, value);
  };
  expect_pth_refused(changed(42, 0), "overlap");
  expect_pth_refused(changed(42, 1'000'000'000), "truncated");
  expect_pth_refused(changed(20, 1'000'000'000), "truncated");
  expect_pth_refused(changed(24, 1'000'000'000), "impossible size");
  expect_pth_refused(changed(24, 4000), "its compression is damaged");
  expect_pth_refused(changed(16, 7), "checksum differs");
  expect_pth_refused(changed(8, 0x00080001), "is encrypted");
  expect_pth_refused(changed(10, 12), "compressed by method 12");
}

Pickle pickle_of(const std::string& program) { return read_pickle(program); }

template <typename... Parts>
void expect_pickle_refused(const std::string& program, const Parts&... parts) {
  expect_error([&] { pickle_of(program); }, parts...);
}

TEST(PickleReader, CallsNothing) {
  expect_pickle_refused(
      "\x80\x02"
      "cos\nsystem\n(X\x04\0\0\0true"
      "tR."s,
      "contains os.system");
  expect_pickle_refused("\x80\x04\x8c\x02os\x8c\x06system\x93.", "contains os.system");
  expect_pickle_refused("c__builtin__\neval\n.", "contains __builtin__.eval");
  expect_pickle_refused("ctorch._utils\n_rebuild_sparse_tensor\n.",
                        "contains torch._utils._rebuild_sparse_tensor");
  expect_pickle_refused("cos\n\x1b[31m\n.", "contains os.?[31m");
  expect_pickle_refused("ctorch\nFloatStorage\n)R.", "calls torch.FloatStorage");
  expect_pickle_refused("ctorch\nFloatStorage\n)\x81.", "its pickle is damaged");
  expect_pickle_refused("cargparse\nNamespace\n)R.", "calls argparse.Namespace");
  expect_pickle_refused("cnumpy\nndarray\n.", "contains numpy.ndarray");
  for (const char code : std::string("ioS\x82P\x92IFV")) {
    expect_pickle_refused(std::string(1, code) + std::string(40, 'x'),
                          "its pickle has the instruction 0x");
  }
}

TEST(PickleReader, ReadsPlainValues) {
  // {'a': [1, -2, 2.5, True, None], 'a': (7,)}: of equal keys the last counts.
  const Pickle p = pickle_of(
      "\x80\x02}(U\x01"
      "a](K\x01J\xfe\xff\xff\xffG@\x04\0\0\0\0\0\0\x88NeU\x01"
      "a\x8a\x01\x07\x85u.rest"s);
  EXPECT_EQ(p.bytes, 37u);
  const PickledValue* a = p.find(p.at(p.root), "a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->kind, PickledValue::Kind::tuple);
  EXPECT_EQ(p.at(a->items.at(0)).integer, 7);
  const PickledValue& list = p.at(p.at(p.root).items.at(1));
  EXPECT_EQ(p.at(list.items.at(1)).integer, -2);
  EXPECT_EQ(p.at(list.items.at(2)).real, 2.5);
  EXPECT_EQ(p.find(p.at(p.root), "b"), nullptr);
  EXPECT_EQ(pickle_of("\x8a\0."s).values[0].integer, 0);
  EXPECT_EQ(pickle_of("\x8a\x02\xff\x7f.").values[0].integer, 32767);
}

TEST(PickleReader, RefusesDamage) {
  for (const std::string program :
       {"a.", "(.", "e.", "u.", "0.", "h\x01.", "j\x01\x01\x01\x01.", "\x85.", "](0.",
        "}(K\x01u.", "K\x01K\x02s.", "N)R.", "ccollections\nOrderedDict\nNR.", "NQ.",
        ")Q.",
        "N\x94K\x01"
        "b."}) {
    expect_pickle_refused(program, "its pickle is damaged");
  }
  for (const std::string program :
       {"", "N", "X\xff\xff\xff\xff", "c", "cos", "\x8a\x05",
        "U\x09"
        "abc."}) {
    expect_pickle_refused(program, "its pickle is truncated");
  }
  expect_pickle_refused("\x8a\x0a" + std::string(10, 'x') + ".", "more than 64 bits");
  expect_pickle_refused("\x80\x09.", "protocol");
}

TEST(PickleReader, ReadsNoMoreDimensionsThanPyTorchHas) {
  EXPECT_EQ(pickle_of(tensor_program(64, 1) + ".").tensors.at(0).shape.size(), 64u);
  expect_pickle_refused(tensor_program(65, 1) + ".", "its pickle is damaged");
}

// OrderedDict(pairs) copies the pairs. Once is fine; six bytes that do it again and
// again would fill any memory.
TEST(PickleReader, CopiesNoListAgainAndAgain) {
  std::string program = "ccollections\nOrderedDict\nq\x01](";
  for (int i = 0; i < 1000; ++i) program += "K\x01K\x02\x86";
  program += "eq\x02";
  const std::string copy = "h\x01h\x02\x85R";
  EXPECT_EQ(pickle_of(program + copy + ".")
                .at(pickle_of(program + copy + ".").root)
                .items.size(),
            2000u);
  std::string often = program;
  for (int i = 0; i < 20; ++i) often += copy + "0";
  expect_pickle_refused(often + copy + ".", "its pickle is damaged");
}

// A list that contains itself, and a million tuples, one in the other.
TEST(PickleReader, SurvivesDepth) {
  EXPECT_EQ(pickle_of("]q\0h\0a."s).values.size(), 1u);
  EXPECT_EQ(pickle_of("N" + std::string(1'000'000, '\x85') + ".").values.size(),
            1'000'001u);
}

}  // namespace
}  // namespace lockstep::data
