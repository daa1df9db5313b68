// Elementwise operations.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/backends/reference/reference_backend.h"
#include "engine/tensor/philox.h"

namespace lockstep::reference {
namespace {

template <typename T>
void dropout(const KernelArgs& args) {
  const View &x = args.in[0], &y = args.out[0], &mask = args.out[1];
  const double p = args.scalars[0];
  const Philox random{static_cast<uint64_t>(args.scalars[1])};
  const auto stream = static_cast<uint64_t>(args.scalars[2]);
  const T factor = static_cast<T>(1 / (1 - p));
  const auto limit = static_cast<uint32_t>(p * 0x1p32);
  for (int64_t start = 0; start < x.numel(); start += 4) {
    const auto words = random.block(start / 4, stream);
    for (int64_t i = start; i < std::min(start + 4, x.numel()); ++i) {
      const bool keep = words[i - start] >= limit;
      mask.as<uint8_t>()[i] = keep;
      y.as<T>()[i] = keep ? x.as<T>()[i] * factor : T(0);
    }
  }
}

/// In float32 for any T, as data::Normalize computes it.
template <typename T>
void normalize_images(const KernelArgs& args) {
  const View &x = args.in[0], &y = args.out[0];
  const int64_t plane = x.sizes[2] * x.sizes[3];
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t channel = i / plane % 3;
    const auto mean = static_cast<float>(args.scalars[channel]);
    const auto std = static_cast<float>(args.scalars[3 + channel]);
    y.as<T>()[i] = T((static_cast<float>(x.as<uint8_t>()[i]) / 255.0f - mean) / std);
  }
}

/// Returns a kernel that computes f(a[i], b[i]), or f(a[i], b[0]) if b is a scalar.
template <typename T, typename F>
Kernel pairwise(F f) {
  return [f](const KernelArgs& args) {
    const T *a = args.in[0].as<T>(), *b = args.in[1].as<T>();
    const int64_t step = args.in[1].numel() == 1 ? 0 : 1;
    T* y = args.out[0].as<T>();
    for (int64_t i = 0; i < args.in[0].numel(); ++i) y[i] = f(a[i], b[i * step]);
  };
}

void flatten_many(const KernelArgs& args) {
  char* out = static_cast<char*>(args.out[0].data);
  for (const View& x : args.in) {
    std::memcpy(out, x.data, x.bytes());
    out += x.bytes();
  }
}

}  // namespace

template <typename T>
Kernel elementwise(const PlanRequest& request) {
  const bool relu = request.attributes.relu;
  switch (request.code) {
    case OpCode::relu:
      return [](const KernelArgs& args) {
        const T* x = args.in[0].as<T>();
        T* y = args.out[0].as<T>();
        for (int64_t i = 0; i < args.in[0].numel(); ++i) y[i] = x[i] < 0 ? T(0) : x[i];
      };
    case OpCode::relu_backward:
      return [](const KernelArgs& args) {
        const T *dy = args.in[0].as<T>(), *y = args.in[1].as<T>();
        T* dx = args.out[0].as<T>();
        for (int64_t i = 0; i < args.in[0].numel(); ++i)
          dx[i] = y[i] > 0 ? dy[i] : T(0);
      };
    case OpCode::add:
      return [relu](const KernelArgs& args) {
        const T *a = args.in[0].as<T>(), *b = args.in[1].as<T>();
        T* y = args.out[0].as<T>();
        for (int64_t i = 0; i < args.in[0].numel(); ++i) {
          const T sum = a[i] + b[i];
          y[i] = relu && sum < 0 ? T(0) : sum;
        }
      };
    case OpCode::subtract:
      return pairwise<T>([](T a, T b) { return a - b; });
    case OpCode::multiply:
      return pairwise<T>([](T a, T b) { return a * b; });
    case OpCode::divide:
      return pairwise<T>([](T a, T b) { return a / b; });
    case OpCode::scale:
      return [](const KernelArgs& args) {
        const T factor = static_cast<T>(args.scalars[0]);
        for (int64_t i = 0; i < args.in[0].numel(); ++i) {
          args.out[0].as<T>()[i] = args.in[0].as<T>()[i] * factor;
        }
      };
    case OpCode::fill:
      return [](const KernelArgs& args) {
        const T value = static_cast<T>(args.scalars[0]);
        for (int64_t i = 0; i < args.out[0].numel(); ++i)
          args.out[0].as<T>()[i] = value;
      };
    case OpCode::copy:
      return [](const KernelArgs& args) {
        std::memmove(args.out[0].data, args.in[0].data, args.in[0].bytes());
      };
    case OpCode::transpose:
      return [](const KernelArgs& args) {
        const int64_t rows = args.in[0].sizes[0], columns = args.in[0].sizes[1];
        const T* x = args.in[0].as<T>();
        T* y = args.out[0].as<T>();
        for (int64_t i = 0; i < rows * columns; ++i) {
          y[i % columns * rows + i / columns] = x[i];
        }
      };
    case OpCode::flatten_many:
      return flatten_many;
    case OpCode::normalize_images:
      return normalize_images<T>;
    case OpCode::dropout:
      return dropout<T>;
    case OpCode::dropout_backward:
      return [](const KernelArgs& args) {
        const T factor = static_cast<T>(1 / (1 - args.scalars[0]));
        const T* dy = args.in[0].as<T>();
        const uint8_t* mask = args.in[1].as<uint8_t>();
        for (int64_t i = 0; i < args.in[0].numel(); ++i) {
          args.out[0].as<T>()[i] = mask[i] ? dy[i] * factor : T(0);
        }
      };
    default:
      break;
  }
  throw std::runtime_error(std::string("reference: no kernel for ") +
                           name(request.code));
}

template Kernel elementwise<float>(const PlanRequest&);
template Kernel elementwise<double>(const PlanRequest&);

}  // namespace lockstep::reference
