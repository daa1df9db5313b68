// Inception-v3 (Szegedy et al. 2015), as torchvision/models/inception.py has it without
// its auxiliary classifier.
#include <vector>

#include "tracer/emulate/scoreboard/net_builder.h"

namespace lockstep::tracer {
namespace {

using ConvShape = NetBuilder::Shape;

/// A convolution of a branch: where it leads, and its kernel.
struct BranchConv {
  int out;
  ConvShape shape;
};

ConvShape wide(int kernel) { return {1, kernel, 1, 0, kernel / 2, 1}; }
ConvShape tall(int kernel) { return {kernel, 1, 1, kernel / 2, 0, 1}; }

/// Branches begin at the block's input. Pooling has no parameters and is not a module.
class InceptionBlock {
 public:
  InceptionBlock(NetBuilder& net, int in) : net_(net), in_(in), size_(net.size()) {
    net.container();
  }
  ~InceptionBlock() { net_.part(); }
  InceptionBlock(const InceptionBlock&) = delete;
  InceptionBlock& operator=(const InceptionBlock&) = delete;

  InceptionBlock& branch(const std::vector<BranchConv>& convs) {
    net_.resize(size_);
    int in = in_;
    for (const BranchConv& conv : convs) {
      net_.container().conv_norm(in, conv.out, conv.shape).plain(0, 1);
      in = conv.out;
    }
    return *this;
  }
  /// The 3×3 convolution that ends in two halves, side by side.
  InceptionBlock& halves(int in) {
    for (const ConvShape& shape : {wide(3), tall(3)}) {
      net_.container().conv_norm(in, 384, shape).plain(0, 1);
    }
    return *this;
  }

 private:
  NetBuilder& net_;
  int in_, size_;
};

void block_a(NetBuilder& net, int in, int pooled) {
  InceptionBlock(net, in)
      .branch({{64, NetBuilder::square(1)}})
      .branch({{48, NetBuilder::square(1)}, {64, NetBuilder::square(5)}})
      .branch({{64, NetBuilder::square(1)},
               {96, NetBuilder::square(3)},
               {96, NetBuilder::square(3)}})
      .branch({{pooled, NetBuilder::square(1)}});
}

void block_b(NetBuilder& net, int in) {
  InceptionBlock(net, in)
      .branch({{384, NetBuilder::square(3, 2, 0)}})
      .branch({{64, NetBuilder::square(1)},
               {96, NetBuilder::square(3)},
               {96, NetBuilder::square(3, 2, 0)}});
}

void block_c(NetBuilder& net, int width) {
  InceptionBlock(net, 768)
      .branch({{192, NetBuilder::square(1)}})
      .branch({{width, NetBuilder::square(1)}, {width, wide(7)}, {192, tall(7)}})
      .branch({{width, NetBuilder::square(1)},
               {width, tall(7)},
               {width, wide(7)},
               {width, tall(7)},
               {192, wide(7)}})
      .branch({{192, NetBuilder::square(1)}});
}

void block_d(NetBuilder& net) {
  InceptionBlock(net, 768)
      .branch({{192, NetBuilder::square(1)}, {320, NetBuilder::square(3, 2, 0)}})
      .branch({{192, NetBuilder::square(1)},
               {192, wide(7)},
               {192, tall(7)},
               {192, NetBuilder::square(3, 2, 0)}});
}

void block_e(NetBuilder& net, int in) {
  InceptionBlock(net, in)
      .branch({{320, NetBuilder::square(1)}})
      .branch({{384, NetBuilder::square(1)}})
      .halves(384)
      .branch({{448, NetBuilder::square(1)}, {384, NetBuilder::square(3)}})
      .halves(384)
      .branch({{192, NetBuilder::square(1)}});
}

}  // namespace

Net inception_v3() {
  NetBuilder net("inception_v3", 299);
  const auto stem = [&](int in, int out, ConvShape shape) {
    net.container().conv_norm(in, out, shape).plain(0, 1).part();
  };
  stem(3, 32, NetBuilder::square(3, 2, 0));
  stem(32, 32, NetBuilder::square(3, 1, 0));
  stem(32, 64, NetBuilder::square(3));
  net.pool(3, 2, 0);
  stem(64, 80, NetBuilder::square(1));
  stem(80, 192, NetBuilder::square(3, 1, 0));
  net.pool(3, 2, 0);
  block_a(net, 192, 32);
  block_a(net, 256, 64);
  block_a(net, 288, 64);
  block_b(net, 288);
  for (const int width : {128, 160, 160, 192}) block_c(net, width);
  block_d(net);
  block_e(net, 1280);
  block_e(net, 2048);
  return net.plain(2, 2).linear(2048, 1000).done();
}

}  // namespace lockstep::tracer
