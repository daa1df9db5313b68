#include "experiments/imagenet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/socket.h"

namespace lockstep::experiments {
namespace {

using Words = std::vector<std::string>;

std::string without(std::string command, const std::string& flag) {
  const size_t at = command.find(flag);
  if (at == command.npos) return command;
  const size_t value = command.find(' ', at) + 1;
  if (value == 0) return command;
  const size_t end = std::min(command.find(' ', value), command.size());
  return command.erase(at, end - at);
}

}  // namespace

std::string family(const std::string& arch) {
  const auto digit = std::find_if(arch.begin(), arch.end(),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return {arch.begin(), digit};
}

std::vector<ImageNetRun> imagenet_runs(const ImageNetRuns& o) {
  const Words processes{"--dist-url",
                        "tcp://" + loopback_endpoint(o.port),
                        "--dist-backend",
                        "nccl",
                        "--world-size",
                        "1",
                        "--rank",
                        "0",
                        "--multiprocessing-distributed"};
  const Words ddp = o.emulated ? Words{"--mode", "ddp"} : processes;
  struct Seed {
    char letter;
    const char* how;
    int64_t batch;
    int workers;
    Words words;
    double seconds;
  };
  const std::vector<Seed> seeds{
      {'s', "1 device", 256, 4, {"--gpu", "0"}, 0.742},
      {'s', "1 device", 128, 4, {"--gpu", "0"}, 0},
      {'p', "DataParallel", 256, 16, {}, 0.378},
      {'p', "DataParallel", 1024, 16, {}, 0},
      {'d', "DistributedDataParallel", 256, 4, ddp, 0},
      {'d', "DistributedDataParallel", 1024, 16, ddp, 0},
  };
  std::vector<ImageNetRun> runs;
  for (const Seed& seed : seeds) {
    ImageNetRun run;
    run.batch = std::max<int64_t>(1, seed.batch / o.divide_batches);
    run.name = fmt::format("{}_{}_{}", family(o.arch), seed.letter, run.batch);
    run.how = seed.how;
    run.on_several = seed.letter != 's';
    run.seed_seconds = seed.seconds;
    run.words = {"train"};
    if (!o.data.empty()) run.words.push_back(o.data);
    const int workers = o.emulated ? 2 : seed.workers;
    for (const std::string& word :
         {std::string("-a"), o.arch, std::string("--lr"), std::string("0.01"),
          std::string("--batch-size"), fmt::to_string(run.batch),
          std::string("--workers"), fmt::to_string(workers)}) {
      run.words.push_back(word);
    }
    run.words.insert(run.words.end(), seed.words.begin(), seed.words.end());
    run.words.insert(run.words.end(), o.more.begin(), o.more.end());
    runs.push_back(run);
  }
  return runs;
}

bool same_command(const std::string& one, const std::string& other) {
  const auto essence = [](const std::string& command) {
    const size_t train = command.find(" train ");
    return without(train == command.npos ? command : command.substr(train),
                   "--dist-url ");
  };
  return essence(one) == essence(other);
}

std::string typed(const Words& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain =
        !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 ||
                 std::string("-_./:=,@+%").find(c) != std::string::npos;
        });
    text += text.empty() ? "" : " ";
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace lockstep::experiments
