// Weight and checkpoint files: safetensors, and PyTorch's own, which look like
// safetensors to the rest of the program.
//
// A PyTorch file contains a state_dict, alone or in a dict as `state_dict`, `model`,
// `model_state_dict` or, alone there, `model_ema`, or the checkpoint of the ImageNet
// example (main.py): a dict of `epoch`, `arch`, `state_dict`, `best_acc1`, `optimizer`
// and, since 2022, `scheduler`. The optimizer numbers its parameters in the order of
// the state_dict.
#pragma once

#include <string>
#include <vector>

#include "engine/data/safetensors.h"

namespace lockstep::train {

/// Reads the tensors of the file and fills `metadata`. A checkpoint of main.py yields
/// the same tensors and metadata as ours (checkpoint_header.h); its recipe contains
/// what main.py stores: arch, momentum, weight decay and, with a scheduler, the
/// learning rate, step size and gamma. Buffers that PyTorch 0.4 did not save are added.
///
/// Throws std::runtime_error with a single line naming `path` and the fix if the file
/// is damaged, contains anything but tensors and plain values, or is a checkpoint of an
/// optimizer other than SGD with momentum. With Part::weights, ignores everything else
/// in a checkpoint of main.py and leaves `metadata` empty.
enum class Part : uint8_t { all, weights };
std::vector<data::TensorFileEntry> read_weight_file(const std::string& path,
                                                    data::Metadata* metadata,
                                                    Part part = Part::all);

/// Reads only the metadata, with fewer checks. The metadata of main.py's checkpoints
/// lack the tensors' checksums.
data::Metadata read_weight_metadata(const std::string& path);

}  // namespace lockstep::train
