// `lockstep data`: generates, checks and downloads data sets in their original formats.
#include <cstdio>
#include <memory>

#include "base/program.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "engine/data/cifar10.h"
#include "engine/data/generated.h"

namespace lockstep::cli {
namespace {

struct DataOptions {
  std::string folder;
  int64_t train = 5000, test = 1000;
  uint64_t seed = 0;
};

int make(const DataOptions& o) {
  const std::string target = o.folder + "/cifar-10-batches-bin";
  data::generate_cifar10(target, o.train, o.test, o.seed);
  std::printf("%s: generated %ld training and %ld test images in CIFAR-10's format\n",
              target.c_str(), static_cast<long>(o.train), static_cast<long>(o.test));
  std::printf("train on them with `%s train %s`\n", program().c_str(),
              o.folder.c_str());
  return 0;
}

int check(const DataOptions& o) {
  const auto folder = data::find_cifar10(o.folder);
  const std::string where = folder ? folder->string() : o.folder;
  const data::Cifar10 train(where, data::Split::train, false);
  const data::Cifar10 test(where, data::Split::test, false);
  const bool generated = data::is_generated(where);
  std::printf("%s: %s, %ld training and %ld test images\n", where.c_str(),
              generated ? "generated, in CIFAR-10's format" : "CIFAR-10",
              static_cast<long>(train.size()), static_cast<long>(test.size()));
  return 0;
}

int fetch(const DataOptions& o) {
  data::cifar10_fetch(o.folder);
  return check(o);
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("data", "generate, check or download CIFAR-10");
  using Run = int (*)(const DataOptions&);
  auto add = [&](const char* name, const char* help, const char* folder, Run run) {
    auto options = std::make_shared<DataOptions>();
    auto* sub = command->add_subcommand(name, help);
    options->folder = folder;
    sub->add_option("DIR", options->folder, "folder")->capture_default_str();
    sub->callback(
        [options, run, &action] { action = [options, run] { return run(*options); }; });
    return std::pair(sub, options);
  };
  auto [maker, options] =
      add("make", "generate a learnable data set in CIFAR-10's format",
          "data/generated", make);
  maker->option_defaults()->always_capture_default();
  maker->add_option("--train", options->train, "number of training images")
      ->check(CLI::Range(5, 1000000));
  maker->add_option("--test", options->test, "number of test images")
      ->check(CLI::Range(1, 1000000));
  maker->add_option("--seed", options->seed, "random seed for the images");
  add("check", "read and verify every record", "data", check);
  add("fetch", "download the official data set and verify its checksum", "data", fetch);
  require_known_subcommand(*command);
}

}  // namespace lockstep::cli
