// The seed's six command lines: ResNet50 on ImageNet, single, DP and DDP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::experiments {

struct ImageNetRuns {
  std::string arch = "resnet50", data;
  int64_t divide_batches = 1;  ///< batches are the seed's, divided by this
  int port = 2345;             ///< where the ranks of DDP meet
  /// Further words of all runs.
  std::vector<std::string> more;
};

/// One of them. `name` is the seed's: resnet_s_256, resnet_p_1024, resnet_d_256, …
/// (s: one device, p: DataParallel, d: DistributedDataParallel).
struct ImageNetRun {
  std::string name, how;
  int64_t batch = 0;
  std::vector<std::string> words;  ///< after `lockstep`: train …
  bool on_several = false;         ///< devices
  double seed_seconds = 0;         ///< the seed's time of an iteration; 0: unknown
};

std::vector<ImageNetRun> imagenet_runs(const ImageNetRuns& options);

/// resnet50 → resnet, as the seed's logs are named.
std::string family(const std::string& arch);

/// Whether two commands are the same run. The port of DDP and the program's name may
/// differ.
bool same_command(const std::string& one, const std::string& other);

/// Words as they can be typed into a shell.
std::string typed(const std::vector<std::string>& words);

}  // namespace lockstep::experiments
