#include "host_machine.h"

#include <cstring>

#include "engine/backends/cuda/plans/elementwise.h"
#include "engine/backends/cuda/plans/loss.h"
#include "engine/backends/cuda/plans/normalization.h"
#include "engine/backends/cuda/plans/optimizers.h"
#include "engine/backends/cuda/plans/pooling.h"
#include "engine/backends/cuda/plans/products.h"

namespace lockstep {
namespace test {
namespace {

using cuda::Bf16;

/// The index of element (n, c, y, x) of an N×C×H×W tensor stored as N×H×W×C.
int64_t at(const Shape& s, int64_t n, int64_t c, int64_t y, int64_t x) {
  return ((n * s[2] + y) * s[3] + x) * s[1] + c;
}

/// Calls visit(index in x, index in w, index in y) for every pixel of a convolution's
/// windows. The values of all channels start at these indices and are contiguous.
template <class Visit>
void for_each_pixel(const cuda::Convolution& p, Visit visit) {
  const Attributes& a = p.attributes;
  for (int64_t n = 0; n < p.y[0]; ++n)
    for (int64_t o = 0; o < p.y[1]; ++o)
      for (int64_t oy = 0; oy < p.y[2]; ++oy)
        for (int64_t ox = 0; ox < p.y[3]; ++ox)
          for (int64_t ky = 0; ky < p.w[2]; ++ky)
            for (int64_t kx = 0; kx < p.w[3]; ++kx) {
              const int64_t iy = oy * a.stride[0] - a.padding[0] + ky;
              const int64_t ix = ox * a.stride[1] - a.padding[1] + kx;
              if (iy < 0 || iy >= p.x[2] || ix < 0 || ix >= p.x[3]) continue;
              visit(at(p.x, n, 0, iy, ix), at(p.w, o, 0, ky, kx),
                    at(p.y, n, o, oy, ox));
            }
}

template <class T>
std::vector<double> in_double(const T* first, int64_t count) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = float(first[i]);
  return values;
}

template <class T>
void convolve(const cuda::Convolution& p, const T* a, const T* b, T* c) {
  using Way = cuda::Convolution::Direction;
  const bool forward = p.direction == Way::forward;
  const bool data = p.direction == Way::backward_data;
  const std::vector<double> left = in_double(a, (data ? p.w : p.x).numel());
  const std::vector<double> right = in_double(b, (forward ? p.w : p.y).numel());
  std::vector<double> sums((forward ? p.y : data ? p.x : p.w).numel());
  const int64_t channels = p.x[1];
  for_each_pixel(p, [&](int64_t x, int64_t w, int64_t y) {
    if (forward) {
      double sum = 0;
      for (int64_t i = 0; i < channels; ++i) sum += left[x + i] * right[w + i];
      sums[y] += sum;
    } else {
      double* to = sums.data() + (data ? x : w);
      const double* from = left.data() + (data ? w : x);
      for (int64_t i = 0; i < channels; ++i) to[i] += from[i] * right[y];
    }
  });
  for (size_t i = 0; i < sums.size(); ++i) c[i] = T(float(sums[i]));
}

template <class In, class Out>
void multiply(const cuda::Gemm& g, const In* a, const In* b, Out* c) {
  for (int64_t i = 0; i < g.m; ++i) {
    for (int64_t j = 0; j < g.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < g.k; ++k) {
        const float left = float(a[g.transpose_a ? k * g.m + i : i * g.k + k]);
        const float right = float(b[g.transpose_b ? j * g.k + k : k * g.n + j]);
        sum += double(left) * right;
      }
      c[i * g.n + j] = Out(float(sum));
    }
  }
}

}  // namespace

cuda::ConvolutionPlan HostMachine::convolution(const cuda::Convolution& p) {
  cuda::ConvolutionPlan plan;
  plan.impl = "host:convolution";
  plan.workspace = p.attributes.relu ? fused_workspace_.load() : kWorkspace;
  plan.run = [p, bytes = plan.workspace](const void* a, const void* b, void* c,
                                         void* workspace) {
    if (!launch()) return;
    std::memset(workspace, 0x7f, bytes);
    if (p.bf16) {
      convolve(p, static_cast<const Bf16*>(a), static_cast<const Bf16*>(b),
               static_cast<Bf16*>(c));
    } else {
      convolve(p, static_cast<const float*>(a), static_cast<const float*>(b),
               static_cast<float*>(c));
    }
  };
  return plan;
}

cuda::GemmRun HostMachine::gemm(const cuda::Gemm& g) {
  return [g](const void* a, const void* b, void* c) {
    if (!launch()) return;
    cuda::with_element({false, g.bf16_in}, [&](auto in) {
      cuda::with_element({false, g.bf16_out}, [&](auto out) {
        multiply(g, static_cast<const decltype(in)*>(a),
                 static_cast<const decltype(in)*>(b), static_cast<decltype(out)*>(c));
      });
    });
  };
}

}  // namespace test

namespace cuda {

using test::HostMachine;
template Step turn_step<HostMachine>(Ref, Ref, int64_t, int64_t, int64_t);
template PlanPtr plan_convolution<HostMachine>(const PlanRequest&);
template PlanPtr plan_linear<HostMachine>(const PlanRequest&);
template PlanPtr plan_normalization<HostMachine>(const PlanRequest&);
template PlanPtr plan_pooling<HostMachine>(const PlanRequest&);
template PlanPtr plan_elementwise<HostMachine>(const PlanRequest&);
template void reduce_elements<HostMachine>(void*, const void*, int64_t, DType,
                                           ReduceOp);
template PlanPtr plan_loss<HostMachine>(const PlanRequest&);
template PlanPtr plan_optimizer<HostMachine>(const PlanRequest&);

}  // namespace cuda
}  // namespace lockstep
