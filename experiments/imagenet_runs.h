// The six command lines of the seed: ResNet50 on ImageNet, single device, DP and DDP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::experiments {

struct ImageNetRuns {
  std::string arch = "resnet50", data;
  int64_t divide_batches = 1;  ///< the seed's batches are divided by this
  int port = 2345;             ///< where the ranks of DDP rendezvous
  /// Additional arguments for all runs.
  std::vector<std::string> more;
};

/// One run. `name` is the one used by the seed: resnet_s_256, resnet_p_1024,
/// resnet_d_256, … (s: one device, p: DataParallel, d: DistributedDataParallel).
struct ImageNetRun {
  std::string name, how;
  int64_t batch = 0;
  std::vector<std::string> words;  ///< arguments after `lockstep`: train …
  bool on_several = false;         ///< uses several devices
  double seed_seconds = 0;         ///< the seed's time per iteration; 0: unknown
};

std::vector<ImageNetRun> imagenet_runs(const ImageNetRuns& options);

/// Returns resnet for resnet50, as in the names of the seed's logs.
std::string family(const std::string& arch);

/// Returns whether two commands are the same run. The port of DDP and the name of the
/// program may differ.
bool same_command(const std::string& one, const std::string& other);

/// Returns the arguments quoted for a shell.
std::string typed(const std::vector<std::string>& words);

}  // namespace lockstep::experiments
