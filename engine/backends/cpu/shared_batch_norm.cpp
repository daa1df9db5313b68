// The stages of a synchronised batch norm that read or write whole activations; see
// reference/shared_normalization.cpp for the formulas and for the stages that use only
// per-channel values. oneDNN has no such kernels, so these are plain loops over blocks
// of channels in memory order.
#include <cmath>

#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/program.h"

namespace lockstep::cpu {
namespace {

constexpr int64_t kMaxBlock = 16;

/// Returns the number of channels per block: 16 or 8 in convolution layouts, 1 in plain
/// order, 0 in any other layout.
int64_t block_of(const TensorSpec& spec) {
  if (!spec.layout) return 1;
  const auto& blocking = described(spec).data.format_desc.blocking;
  const bool channels = blocking.inner_nblks == 1 && blocking.inner_idxs[0] == 1;
  const int64_t block = channels ? blocking.inner_blks[0] : 0;
  return (block == 8 || block == 16) && spec.sizes[1] % block == 0 ? block : 0;
}

/// The memory layout of an activation: N × groups × plane × block.
struct Blocks {
  int64_t batch, groups, plane, block;

  Blocks(const Shape& sizes, int64_t block_size)
      : batch(sizes[0]),
        groups(sizes[1] / block_size),
        plane(sizes[2] * sizes[3]),
        block(block_size) {}
  /// Returns the offset of channel group g of image n.
  int64_t at(int64_t n, int64_t g) const { return (n * groups + g) * plane * block; }
};

/// Calls visit(i, lane) for a plane's elements in memory order. The block size is a
/// template parameter, so that a block is one vector.
template <int64_t kBlock, typename Visit>
void visit_plane(int64_t start, int64_t plane, Visit visit) {
  for (int64_t i = start; i < start + plane * kBlock; i += kBlock) {
#pragma omp simd
    for (int64_t lane = 0; lane < kBlock; ++lane) visit(i + lane, lane);
  }
}

/// As above, for one image's group of channels and any block size.
template <typename Visit>
void for_plane(const Blocks& b, int64_t start, Visit visit) {
  if (b.block == 16) return visit_plane<16>(start, b.plane, visit);
  if (b.block == 8) return visit_plane<8>(start, b.plane, visit);
  visit_plane<1>(start, b.plane, visit);
}

/// Sums over a plane in float and over planes in double: float alone would lose
/// precision over a channel's hundred thousand elements.
struct Sums {
  float of_plane[kMaxBlock] = {};
  double total[kMaxBlock] = {};

  void end_plane() {
    for (int64_t lane = 0; lane < kMaxBlock; ++lane) {
      total[lane] += of_plane[lane];
      of_plane[lane] = 0;
    }
  }
};

void stats(const float* x, const Blocks& b, const KernelArgs& args) {
  const auto count = static_cast<double>(b.batch * b.plane);
#pragma omp parallel for
  for (int64_t g = 0; g < b.groups; ++g) {
    Sums sums, squares;
    for (int64_t n = 0; n < b.batch; ++n) {
      for_plane(b, b.at(n, g),
                [&](int64_t i, int64_t lane) { sums.of_plane[lane] += x[i]; });
      sums.end_plane();
    }
    float mean[kMaxBlock];
    for (int64_t lane = 0; lane < b.block; ++lane) {
      mean[lane] = static_cast<float>(sums.total[lane] / count);
    }
    for (int64_t n = 0; n < b.batch; ++n) {
      for_plane(b, b.at(n, g), [&](int64_t i, int64_t lane) {
        squares.of_plane[lane] += (x[i] - mean[lane]) * (x[i] - mean[lane]);
      });
      squares.end_plane();
    }
    for (int64_t lane = 0; lane < b.block; ++lane) {
      args.out[0].as<float>()[g * b.block + lane] = mean[lane];
      args.out[1].as<float>()[g * b.block + lane] =
          static_cast<float>(squares.total[lane] / count);
    }
  }
  *args.out[2].as<float>() = static_cast<float>(count);
}

void backward_reduce(const float* x, const float* dy, const Blocks& b,
                     const KernelArgs& args, double eps) {
#pragma omp parallel for
  for (int64_t g = 0; g < b.groups; ++g) {
    const float* mean = args.in[2].as<float>() + g * b.block;
    const float* var = args.in[3].as<float>() + g * b.block;
    Sums sums, products;
    for (int64_t n = 0; n < b.batch; ++n) {
      for_plane(b, b.at(n, g), [&](int64_t i, int64_t lane) {
        sums.of_plane[lane] += dy[i];
        products.of_plane[lane] += dy[i] * (x[i] - mean[lane]);
      });
      sums.end_plane();
      products.end_plane();
    }
    for (int64_t lane = 0; lane < b.block; ++lane) {
      const int64_t c = g * b.block + lane;
      const auto sum = static_cast<float>(sums.total[lane]);
      args.out[0].as<float>()[c] = args.out[3].as<float>()[c] = sum;
      args.out[1].as<float>()[c] = static_cast<float>(products.total[lane]);
      args.out[2].as<float>()[c] =
          static_cast<float>(products.total[lane] / std::sqrt(var[lane] + eps));
    }
  }
}

void backward_elemt(const float* x, const float* dy, const Blocks& b,
                    const KernelArgs& args, double eps) {
  const double count = *args.in[7].as<float>();
#pragma omp parallel for
  for (int64_t g = 0; g < b.groups; ++g) {
    float of_mean[kMaxBlock], of_var[kMaxBlock], scale[kMaxBlock];
    for (int64_t lane = 0; lane < b.block; ++lane) {
      const int64_t c = g * b.block + lane;
      const double var = args.in[4].as<float>()[c] + eps;
      of_mean[lane] = static_cast<float>(args.in[5].as<float>()[c] / count);
      of_var[lane] = static_cast<float>(args.in[6].as<float>()[c] / count / var);
      scale[lane] = static_cast<float>(args.in[2].as<float>()[c] / std::sqrt(var));
    }
    const float* mean = args.in[3].as<float>() + g * b.block;
    float* dx = args.out[0].as<float>();
    for (int64_t n = 0; n < b.batch; ++n) {
      for_plane(b, b.at(n, g), [&](int64_t i, int64_t lane) {
        dx[i] =
            scale[lane] * (dy[i] - of_mean[lane] - (x[i] - mean[lane]) * of_var[lane]);
      });
    }
  }
}

const float* data(const KernelArgs& args, const Ref& ref) {
  return ref.kind == Ref::Kind::input
             ? args.in[ref.index].as<float>()
             : reinterpret_cast<float*>(static_cast<char*>(args.workspace) + ref.index);
}

}  // namespace

/// x keeps a blocked layout if it has one and is otherwise reordered to plain; dy is
/// reordered to match.
PlanPtr plan_shared_batch_norm(const PlanRequest& r) {
  const int64_t known = block_of(r.in[0]);
  const Md layout = known ? described(r.in[0]) : plain(r.in[0].sizes);
  const Blocks blocks(r.in[0].sizes, known ? known : 1);
  const double eps = r.attributes.eps;
  Program program;
  const Ref x = program.as(in(0), described(r.in[0]), layout);
  if (r.code == OpCode::batch_norm_stats) {
    program.run([=](const KernelArgs& args) { stats(data(args, x), blocks, args); });
    return program.finish({});
  }
  const Ref dy = program.as(in(1), described(r.in[1]), layout);
  if (r.code == OpCode::batch_norm_backward_reduce) {
    program.run([=](const KernelArgs& args) {
      backward_reduce(data(args, x), data(args, dy), blocks, args, eps);
    });
    return program.finish({});
  }
  program.run([=](const KernelArgs& args) {
    backward_elemt(data(args, x), data(args, dy), blocks, args, eps);
  });
  return program.finish({known ? r.in[0].layout : nullptr});
}

}  // namespace lockstep::cpu
