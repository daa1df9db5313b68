#include "tracer/emulate/scoreboard/nets.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "tracer/emulate/scoreboard/net_builder.h"

namespace lockstep::tracer {
namespace {

/// The sizes of torchvision/models/resnet.py.
struct ResNetSizes {
  std::array<int, 4> blocks;
  bool bottleneck = true;
  int groups = 1, width_per_group = 64;
};

const std::map<std::string, ResNetSizes, std::less<>>& resnets() {
  static const std::map<std::string, ResNetSizes, std::less<>> sizes{
      {"resnet18", {{2, 2, 2, 2}, false}},
      {"resnet34", {{3, 4, 6, 3}, false}},
      {"resnet50", {{3, 4, 6, 3}}},
      {"resnet101", {{3, 4, 23, 3}}},
      {"resnet152", {{3, 8, 36, 3}}},
      {"resnext50_32x4d", {{3, 4, 6, 3}, true, 32, 4}},
      {"resnext101_32x8d", {{3, 4, 23, 3}, true, 32, 8}},
      {"wide_resnet50_2", {{3, 4, 6, 3}, true, 1, 128}}};
  return sizes;
}

/// One block. Its stride is that of the 3×3 convolution ("v1.5").
void residual_block(NetBuilder& net, const ResNetSizes& sizes, int in, int planes,
                    int stride) {
  const int out = sizes.bottleneck ? 4 * planes : planes;
  const int before = net.size();
  net.container();
  if (sizes.bottleneck) {
    const int width = planes * sizes.width_per_group / 64 * sizes.groups;
    net.conv_norm(in, width, NetBuilder::square(1));
    net.conv_norm(width, width, NetBuilder::square(3, stride, 1, sizes.groups));
    net.conv_norm(width, out, NetBuilder::square(1));
    net.plain(1, 3);  // one ReLU, called three times
  } else {
    net.conv_norm(in, planes, NetBuilder::square(3, stride));
    net.conv_norm(planes, planes, NetBuilder::square(3));
    net.plain(1, 2);
  }
  if (stride != 1 || in != out) {
    const int after = net.size();
    net.resize(before);
    net.container().conv_norm(in, out, NetBuilder::square(1, stride));
    net.resize(after);
  }
  net.part();
}

Net resnet(const std::string& name, const ResNetSizes& sizes) {
  NetBuilder net(name, 224);
  net.conv_norm(3, 64, NetBuilder::square(7, 2)).plain().pool(3, 2, 1).part();
  int in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int planes = 64 << stage;
    net.container();
    for (int block = 0; block < sizes.blocks[static_cast<size_t>(stage)]; ++block) {
      residual_block(net, sizes, in, planes, block == 0 && stage > 0 ? 2 : 1);
      in = sizes.bottleneck ? 4 * planes : planes;
    }
  }
  return net.plain().linear(in, 1000).done();
}

/// Convolutions per block, each block followed by pooling.
const std::map<std::string, std::array<int, 5>, std::less<>>& vggs() {
  static const std::map<std::string, std::array<int, 5>, std::less<>> sizes{
      {"vgg11", {1, 1, 2, 2, 2}},
      {"vgg13", {2, 2, 2, 2, 2}},
      {"vgg16", {2, 2, 3, 3, 3}},
      {"vgg19", {2, 2, 4, 4, 4}}};
  return sizes;
}

Net vgg(const std::string& name, const std::array<int, 5>& blocks, bool norm) {
  NetBuilder net(name, 224);
  net.container(2);
  int in = 3;
  for (int block = 0; block < 5; ++block) {
    const int out = std::min(64 << block, 512);
    for (int i = 0; i < blocks[static_cast<size_t>(block)]; ++i) {
      net.conv(in, out, NetBuilder::square(3), true);
      if (norm) net.norm(out);
      net.plain().part();
      in = out;
    }
    net.pool(2, 2, 0);
  }
  net.plain();
  net.linear(25088, 4096).plain(2, 2).part();
  net.linear(4096, 4096).plain(2, 2).part();
  return net.linear(4096, 1000).done();
}

Net alexnet() {
  NetBuilder net("alexnet", 224);
  net.container(2);
  net.conv(3, 64, NetBuilder::square(11, 4, 2), true).plain().pool(3, 2, 0).part();
  net.conv(64, 192, NetBuilder::square(5), true).plain().pool(3, 2, 0).part();
  net.conv(192, 384, NetBuilder::square(3), true).plain().part();
  net.conv(384, 256, NetBuilder::square(3), true).plain().part();
  net.conv(256, 256, NetBuilder::square(3), true).plain().pool(3, 2, 0).part();
  net.plain(2, 2);
  net.linear(9216, 4096).plain(2, 2).part();
  net.linear(4096, 4096).plain().part();
  return net.linear(4096, 1000).done();
}

}  // namespace

int64_t Net::numel() const {
  int64_t sum = 0;
  for (const NetTensor& tensor : parameters) sum += tensor.numel;
  return sum;
}

double Net::macs() const {
  double sum = 0;
  for (const NetTensor& tensor : parameters) sum += tensor.macs;
  return sum;
}

std::optional<Net> net_named(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(' '));
  if (const auto found = resnets().find(name); found != resnets().end()) {
    return resnet(found->first, found->second);
  }
  const bool norm = name.ends_with("_bn");
  const std::string_view plain = norm ? name.substr(0, name.size() - 3) : name;
  if (const auto found = vggs().find(plain); found != vggs().end()) {
    return vgg(std::string(name), found->second, norm);
  }
  if (name == "alexnet") return alexnet();
  if (name == "inception_v3") return inception_v3();
  return std::nullopt;
}

}  // namespace lockstep::tracer
