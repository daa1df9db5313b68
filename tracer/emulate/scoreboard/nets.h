// What the emulator must know of a network that it never ran: the size of each
// parameter tensor, in registration order, and the work of the layer that it belongs
// to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tracer {

/// A parameter tensor.
struct NetTensor {
  int64_t numel = 0;
  /// Multiplications of the layer's forward pass per image; 0 for biases and for the
  /// two tensors of a normalization.
  double macs = 0;
};

/// A network, for images of `image_bytes` bytes.
struct Net {
  std::string name;
  std::vector<NetTensor> parameters;  ///< in registration order
  int modules = 0;                    ///< of nn.Module, the containers included
  int buffers = 0;                    ///< three for each batch normalization
  int calls = 0;                      ///< of layers' forward functions, per batch
  int64_t image_bytes = 602112;       ///< 3 · 224 · 224 values of 4 bytes
  int64_t classes = 1000;
  std::vector<double> parts;  ///< work of the parts that a pipeline may cut between

  int64_t numel() const;
  double macs() const;
};

/// Returns the network, as torchvision defines it: `alexnet`, `vgg11` … `vgg19`,
/// `vgg16_bn`, `resnet18` … `resnet152`, `resnext50_32x4d`, `resnext101_32x8d`,
/// `wide_resnet50_2`, `inception_v3` without its auxiliary classifier. What follows a
/// space is ignored: `resnet50 v1.5`. Returns std::nullopt for other names.
std::optional<Net> net_named(std::string_view name);

}  // namespace lockstep::tracer
