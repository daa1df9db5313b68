// Checkpoints of main.py as checkpoints of ours, against the numbers that PyTorch reads
// from them (tests/engine/data/make_pth_golden.py).
// sanitize: address
#include "engine/train/weight_files.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/train/checkpoint_header.h"
#include "tests/base/test_files.h"
#include "tests/engine/data/pth_golden.h"

namespace lockstep::train {
namespace {

using data::expect_pth_golden;
using data::pth_golden;
using data::pth_golden_path;
using Json = nlohmann::json;

CheckpointHeader header_of(const std::string& name) {
  return parse_header(read_weight_metadata(pth_golden_path(name)), name);
}

std::map<std::string, data::TensorFileEntry> tensors_of(const std::string& name,
                                                        CheckpointHeader* header) {
  data::Metadata metadata;
  std::map<std::string, data::TensorFileEntry> tensors;
  for (auto& entry : read_weight_file(pth_golden_path(name), &metadata)) {
    tensors[entry.name] = entry;
  }
  *header = parse_header(metadata, name);
  return tensors;
}

TEST(WeightFiles, ReadMainPysCheckpoints) {
  CheckpointHeader header;
  const auto tensors = tensors_of("checkpoint.pth.tar", &header);
  EXPECT_EQ(header.progress.arch, "resnet18");
  EXPECT_EQ(header.progress.epoch, 2);
  EXPECT_EQ(header.progress.best_acc1, 37.5);
  EXPECT_EQ(header.progress.recipe, header_of("checkpoint.pth.tar").progress.recipe);
  // The file's rate is that of its next epoch; the first epoch's determines all.
  EXPECT_EQ(Json::parse(header.progress.recipe), (Json{{"--arch", "resnet18"},
                                                       {"--stem", "imagenet"},
                                                       {"--lr", 0.2},
                                                       {"--momentum", 0.9},
                                                       {"--nesterov", false},
                                                       {"--weight-decay", 1e-3},
                                                       {"--schedule", "step"},
                                                       {"--lr-step-size", 1},
                                                       {"--lr-gamma", 0.5}}));

  size_t expected = 0;
  for (const auto& [name, values] : pth_golden()["state_dict"].items()) {
    const std::string plain = without_module(name);
    ASSERT_TRUE(tensors.contains(plain)) << name;
    expect_pth_golden(tensors.at(plain), values);
    EXPECT_EQ(header.checksums.at(plain), checksum(tensors.at(plain)));
    ++expected;
  }
  // conv1.weight is frozen: PyTorch numbers it, but has no momentum for it.
  EXPECT_EQ(pth_golden()["momentum"].size(), 4u);
  for (const auto& [name, values] : pth_golden()["momentum"].items()) {
    ASSERT_TRUE(tensors.contains(kMomentum + name)) << name;
    expect_pth_golden(tensors.at(kMomentum + name), values);
    ++expected;
  }
  EXPECT_EQ(tensors.size(), expected);
}

// Without a scheduler the file does not say what the first rate was.
TEST(WeightFiles, ReadOlderCheckpoints) {
  CheckpointHeader header;
  const auto tensors = tensors_of("older.pth.tar", &header);
  EXPECT_EQ(header.progress.best_acc1, 37.5);
  const Json recipe = Json::parse(header.progress.recipe);
  EXPECT_FALSE(recipe.contains("--lr"));
  EXPECT_EQ(recipe["--momentum"], 0.9);
  const auto& tracked = tensors.at("bn1.num_batches_tracked");
  EXPECT_EQ(tracked.dtype, "I64");
  EXPECT_EQ(tracked.data, std::vector<std::byte>(8));
  expect_pth_golden(tensors.at(kMomentum + "fc.weight"),
                    pth_golden()["momentum"]["fc.weight"]);
}

TEST(WeightFiles, ReadWeightsAlone) {
  data::Metadata metadata{{"left", "over"}};
  EXPECT_EQ(read_weight_file(pth_golden_path("types.pth"), &metadata).size(),
            pth_golden()["types"].size());
  EXPECT_TRUE(metadata.empty());
  expect_error([] { header_of("types.pth"); }, "types.pth", "contains weights",
               "--pretrained");
}

// What --pretrained reads: whatever the optimizer is, its state is not looked at.
TEST(WeightFiles, OfOtherOptimizersAreReadAlone) {
  for (const char* name : {"adam.pth.tar", "nesterov.pth.tar", "adamw.pth.tar"}) {
    data::Metadata metadata;
    const auto tensors =
        read_weight_file(pth_golden_path(name), &metadata, Part::weights);
    EXPECT_FALSE(tensors.empty()) << name;
    EXPECT_TRUE(metadata.empty()) << name;
    for (const auto& entry : tensors) {
      EXPECT_FALSE(entry.name.starts_with("optimizer.")) << name;
    }
  }
}

TEST(WeightFiles, ReadAdamsCheckpoints) {
  CheckpointHeader header;
  const auto tensors = tensors_of("adam.pth.tar", &header);
  EXPECT_EQ(Json::parse(header.progress.recipe), (Json{{"--arch", "resnet18"},
                                                       {"--stem", "imagenet"},
                                                       {"--optimizer", "adam"},
                                                       {"--lr", 0.001},
                                                       {"--beta1", 0.9},
                                                       {"--beta2", 0.999},
                                                       {"--eps", 1e-8},
                                                       {"--amsgrad", false},
                                                       {"--weight-decay", 0.0},
                                                       {"--schedule", "step"},
                                                       {"--lr-step-size", 1},
                                                       {"--lr-gamma", 0.5}}));
  EXPECT_EQ(pth_golden()["adam"].size(), 8u);  // two averages of four parameters
  for (const auto& [name, values] : pth_golden()["adam"].items()) {
    expect_pth_golden(tensors.at("optimizer." + name), values);
  }
  const auto& step = tensors.at("optimizer.step.fc.weight");
  EXPECT_EQ(step.dtype, "I64");
  EXPECT_EQ(static_cast<int>(step.data[0]), 2);
}

TEST(WeightFiles, ReadAdamWAndNesterov) {
  CheckpointHeader header;
  tensors_of("adamw_2.7.pth.tar", &header);
  auto recipe = Json::parse(header.progress.recipe);
  EXPECT_EQ(recipe["--optimizer"], "adamw");
  EXPECT_EQ(recipe["--weight-decay"], 0.01);
  tensors_of("nesterov.pth.tar", &header);
  recipe = Json::parse(header.progress.recipe);
  EXPECT_EQ(recipe["--nesterov"], true);
  EXPECT_EQ(recipe["--momentum"], 0.9);
  tensors_of("checkpoint.pth.tar", &header);
  EXPECT_EQ(Json::parse(header.progress.recipe)["--nesterov"], false);
}

TEST(WeightFiles, RefuseOtherOptimizers) {
  const auto refused = [](const std::string& name, auto... parts) {
    data::Metadata metadata;
    expect_error([&] { read_weight_file(pth_golden_path(name), &metadata); }, name,
                 "; fix: ", parts...);
    expect_error([&] { read_weight_metadata(pth_golden_path(name)); }, name, parts...);
  };
  refused("adamw.pth.tar",
          "does not say whether its weight decay is Adam's or AdamW's");
  refused("adagrad.pth.tar", "its optimizer is not SGD, Adam or RMSprop");
  refused("number.pth", "'n' is not a tensor");
}

// A run's options (argparse.Namespace) are no code: they are skipped.
TEST(WeightFiles, OfPeopleWhoSaveTheirOptionsAreRead) {
  CheckpointHeader with, without;
  EXPECT_EQ(tensors_of("args.pth.tar", &with).size(),
            tensors_of("checkpoint.pth.tar", &without).size());
  EXPECT_EQ(with.checksums, without.checksums);
}

TEST(WeightFiles, OfOtherLibrariesHaveTheSameWeights) {
  for (const char* file :
       {"compiled.pth", "lightning.ckpt", "references.pth", "averaged.pth"}) {
    data::Metadata metadata;
    const auto tensors =
        read_weight_file(pth_golden_path(file), &metadata, Part::weights);
    EXPECT_EQ(tensors.size(), pth_golden()["state_dict"].size()) << file;
    for (const auto& entry : tensors) {
      std::string name = without_module(entry.name);
      if (name.starts_with("model.")) name.erase(0, 6);  // load_weights does
      expect_pth_golden(entry, pth_golden()["state_dict"].at("module." + name));
    }
  }
}

TEST(WeightFiles, ThatAreNoneAreNamed) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "weights_that_are_none.pth";
  const auto said = [&](const std::string& bytes, auto... parts) {
    write_file(path, bytes);
    data::Metadata metadata;
    expect_error([&] { read_weight_file(path, &metadata); }, path.string(), parts...);
    expect_error([&] { read_weight_metadata(path); }, path.string(), parts...);
  };
  said("version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
       "is a Git LFS pointer", "; fix: git lfs pull");
  said("\n<!DOCTYPE html><html>", "is a web page (HTML)", "; fix: download");
  said("{\"error\": \"not found\"}", "is a JSON text", "; fix: download");
  said("\x1f\x8b\x08 and so on", "gzip", "; fix: unpack it");
  said("", "is empty", "; fix: ");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lockstep::train
