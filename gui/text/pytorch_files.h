// The source files of PyTorch (2.x) and torchvision that implement calls with the same
// name, for further reading.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace lockstep::gui {

/// Keyed by a prefix of an event's name; the longest match wins.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 53>
    kPyTorchFiles = {{
        {"Module.__call__", "torch/nn/modules/module.py"},
        {"Module._call_impl", "torch/nn/modules/module.py"},
        {"DataParallel.", "torch/nn/parallel/data_parallel.py"},
        {"DistributedDataParallel.", "torch/nn/parallel/distributed.py"},
        {"scatter", "torch/nn/parallel/scatter_gather.py"},
        {"gather", "torch/nn/parallel/scatter_gather.py"},
        {"Scatter", "torch/nn/parallel/_functions.py"},
        {"Gather", "torch/nn/parallel/_functions.py"},
        {"Broadcast", "torch/nn/parallel/_functions.py"},
        {"ReduceAddCoalesced", "torch/nn/parallel/_functions.py"},
        {"replicate", "torch/nn/parallel/replicate.py"},
        {"parallel_apply", "torch/nn/parallel/parallel_apply.py"},
        {"reduce", "torch/nn/parallel/comm.py"},
        {"all_reduce", "torch/csrc/distributed/c10d/reducer.cpp"},
        {"average", "torch/distributed/algorithms/model_averaging/averagers.py"},
        {"backward", "torch/autograd/__init__.py"},
        {"optimizer", "torch/optim/optimizer.py"},
        {"data", "torch/utils/data/dataloader.py"},
        {"loss", "torch/nn/modules/loss.py"},
        {"CheckpointFunction", "torch/utils/checkpoint.py"},
        {"aten::_fused_sgd_", "torch/optim/sgd.py"},
        {"aten::_fused_adam_", "torch/optim/adam.py"},
        {"aten::_fused_adamw_", "torch/optim/adamw.py"},
        {"lockstep::_fused_rmsprop_", "torch/optim/rmsprop.py"},
        {"AlexNet.", "torchvision/models/alexnet.py"},
        {"ResNet.", "torchvision/models/resnet.py"},
        {"BasicBlock.", "torchvision/models/resnet.py"},
        {"Bottleneck.", "torchvision/models/resnet.py"},
        {"VGG.", "torchvision/models/vgg.py"},
        {"Sequential.", "torch/nn/modules/container.py"},
        {"Conv2d.", "torch/nn/modules/conv.py"},
        {"Linear.", "torch/nn/modules/linear.py"},
        {"BatchNorm2d.", "torch/nn/modules/batchnorm.py"},
        {"ReLU.", "torch/nn/modules/activation.py"},
        {"MaxPool2d.", "torch/nn/modules/pooling.py"},
        {"AdaptiveAvgPool2d.", "torch/nn/modules/pooling.py"},
        {"AvgPool2d.", "torch/nn/modules/pooling.py"},
        {"Dropout.", "torch/nn/modules/dropout.py"},
        {"Flatten.", "torch/nn/modules/flatten.py"},
        {"CrossEntropyLoss.", "torch/nn/modules/loss.py"},
        {"aten::conv2d", "aten/src/ATen/native/Convolution.cpp"},
        {"ConvolutionBackward0", "aten/src/ATen/native/Convolution.cpp"},
        {"aten::batch_norm", "aten/src/ATen/native/Normalization.cpp"},
        {"aten::relu", "aten/src/ATen/native/Activation.cpp"},
        {"aten::max_pool2d", "aten/src/ATen/native/DilatedMaxPool2d.cpp"},
        {"aten::adaptive_avg_pool2d",
         "aten/src/ATen/native/AdaptiveAveragePooling.cpp"},
        {"aten::linear", "aten/src/ATen/native/Linear.cpp"},
        {"aten::add", "aten/src/ATen/native/BinaryOps.cpp"},
        {"aten::flatten", "aten/src/ATen/native/TensorShape.cpp"},
        {"aten::cross_entropy", "aten/src/ATen/native/LossNLL.cpp"},
        {"aten::dropout", "aten/src/ATen/native/Dropout.cpp"},
        {"aten::to", "aten/src/ATen/native/TensorConversions.cpp"},
        {"aten::", "aten/src/ATen/native/"},
    }};

inline std::string_view pytorch_file(std::string_view name) {
  std::pair<std::string_view, std::string_view> best;
  for (const auto& entry : kPyTorchFiles) {
    if (name.starts_with(entry.first) && entry.first.size() > best.first.size()) {
      best = entry;
    }
  }
  if (best.second.empty() && name.ends_with(".__call__")) {
    return "torch/nn/modules/module.py";
  }
  return best.second;
}

}  // namespace lockstep::gui
