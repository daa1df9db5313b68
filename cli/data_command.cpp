// `lockstep data`: make, check and fetch data sets in their real formats.
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "engine/data/cifar10.h"
#include "engine/data/fetch.h"
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
  std::printf("%s: %ld training and %ld test pictures in CIFAR-10's format\n",
              target.c_str(), static_cast<long>(o.train), static_cast<long>(o.test));
  return 0;
}

int check(const DataOptions& o) {
  const auto folder = data::find_cifar10(o.folder);
  const std::string where = folder ? folder->string() : o.folder;
  const data::Cifar10 train(where, data::Split::train, false);
  const data::Cifar10 test(where, data::Split::test, false);
  std::printf("%s: CIFAR-10, %ld training and %ld test pictures\n", where.c_str(),
              static_cast<long>(train.size()), static_cast<long>(test.size()));
  return 0;
}

int fetch(const DataOptions& o) {
  data::cifar10_fetch(o.folder);
  return check(o);
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("data", "make, check or fetch CIFAR-10");
  command->require_subcommand(1);
  auto add = [&](const char* name, const char* help, int (*run)(const DataOptions&)) {
    auto options = std::make_shared<DataOptions>();
    auto* sub = command->add_subcommand(name, help);
    options->folder = "data";
    sub->add_option("DIR", options->folder, "folder (default: data)");
    sub->callback(
        [options, run, &action] { action = [options, run] { return run(*options); }; });
    return std::pair(sub, options);
  };
  auto [maker, options] = add("make", "a generated, learnable set", make);
  maker->add_option("--train", options->train)->check(CLI::Range(5, 1000000));
  maker->add_option("--test", options->test)->check(CLI::Range(1, 1000000));
  maker->add_option("--seed", options->seed);
  add("check", "read every record", check);
  add("fetch", "download the official set and verify its checksum", fetch);
}

}  // namespace lockstep::cli
