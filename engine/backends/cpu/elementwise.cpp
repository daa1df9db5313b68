// Elementwise operations: one pass over memory in any layout. Both operands have the
// same layout (the second is reordered if necessary), so elements correspond by index.
#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/program.h"
#include "engine/backends/reference/reference_backend.h"

namespace lockstep::cpu {
namespace {

/// Returns the number of elements in memory, including padding.
int64_t physical(const View& view) { return view.bytes() / sizeof(float); }

const float* second(const KernelArgs& args, const Ref& ref) {
  return ref.kind == Ref::Kind::input
             ? args.in[ref.index].as<float>()
             : reinterpret_cast<float*>(static_cast<char*>(args.workspace) + ref.index);
}

PlanPtr plan_relu(const PlanRequest& r) {
  Program program;
  program.run([](const KernelArgs& args) {
    const float* x = args.in[0].as<float>();
    float* y = args.out[0].as<float>();
    const int64_t n = physical(args.in[0]);
#pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
  });
  return program.finish({r.in[0].layout});
}

/// Plans dy, y → dx in y's layout, which was chosen by a convolution.
PlanPtr plan_relu_backward(const PlanRequest& r) {
  Program program;
  const Ref from = program.as(in(0), described(r.in[0]), described(r.in[1]));
  program.run([from](const KernelArgs& args) {
    const float *dy = second(args, from), *y = args.in[1].as<float>();
    float* dx = args.out[0].as<float>();
    const int64_t n = physical(args.in[1]);
#pragma omp parallel for simd
    for (int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
  });
  return program.finish({r.in[1].layout});
}

PlanPtr plan_add(const PlanRequest& r) {
  Program program;
  const Ref other = program.as(in(1), described(r.in[1]), described(r.in[0]));
  program.run([other, relu = r.attributes.relu](const KernelArgs& args) {
    const float *a = args.in[0].as<float>(), *b = second(args, other);
    float* y = args.out[0].as<float>();
    const int64_t n = physical(args.in[0]);
    if (relu) {
#pragma omp parallel for simd
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i] < 0 ? 0 : a[i] + b[i];
    } else {
#pragma omp parallel for simd
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
    }
  });
  return program.finish({r.in[0].layout});
}

PlanPtr plan_copy(const PlanRequest& r) {
  if (!r.in[0].layout) return plan_on_plain(r);
  const Md from = described(r.in[0]), to = plain(r.out[0].sizes);
  const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, attributes());
  Program program;
  program.run(pd, dnnl::reorder(pd),
              {{DNNL_ARG_FROM, in(0), from}, {DNNL_ARG_TO, out(0), to}});
  return program.finish({});
}

/// Plans the same update as the reference (see the formula there), on all threads.
PlanPtr plan_sgd(const PlanRequest&) {
  Program program;
  program.run([](const KernelArgs& args) {
    const float lr = static_cast<float>(args.scalars[0]);
    const float momentum = static_cast<float>(args.scalars[1]);
    const float decay = static_cast<float>(args.scalars[2]);
    const float keep = args.scalars[3] != 0 ? 0 : momentum;
    const bool nesterov = args.scalars[4] != 0;
    for (size_t t = 0; t + 2 < args.in.size(); t += 3) {
      float* __restrict p = args.in[t].as<float>();
      const float* __restrict g = args.in[t + 1].as<float>();
      float* __restrict buffer = args.in[t + 2].as<float>();
      const int64_t n = args.in[t].numel();
      if (args.scalars[3] != 0) std::fill_n(buffer, n, 0.0f);
#pragma omp parallel for simd
      for (int64_t i = 0; i < n; ++i) {
        const float d = g[i] + decay * p[i], moved = d + keep * buffer[i];
        buffer[i] = moved;
        p[i] -= lr * (nesterov ? d + momentum * moved : moved);
      }
    }
  });
  return program.finish({});
}

/// Plans the reference kernel, for operations that are independent of memory order.
PlanPtr plan_any_order(const PlanRequest& r) {
  Program program;
  const bool fill = r.code == OpCode::fill;
  program.run([fill](const KernelArgs& args) {
    const float value = static_cast<float>(args.scalars[0]);
    float* y = args.out[0].as<float>();
    const int64_t n = physical(args.out[0]);
    if (fill) {
      std::fill_n(y, n, value);
    } else {
      const float* x = args.in[0].as<float>();
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] * value;
    }
  });
  return program.finish({fill ? nullptr : r.in[0].layout});
}

}  // namespace

PlanPtr plan_elementwise(const PlanRequest& request) {
  switch (request.code) {
    case OpCode::relu:
      return plan_relu(request);
    case OpCode::relu_backward:
      return plan_relu_backward(request);
    case OpCode::add:
      return plan_add(request);
    case OpCode::copy:
      return plan_copy(request);
    case OpCode::sgd:
      return plan_sgd(request);
    default:
      return plan_any_order(request);
  }
}

PlanPtr plan_on_plain(const PlanRequest& request) {
  PlanRequest plain_request = request;
  Program program;
  std::vector<Ref> refs;
  for (size_t i = 0; i < request.in.size(); ++i) {
    TensorSpec& spec = plain_request.in[i];
    const bool blocked = dynamic_cast<const DnnlLayout*>(spec.layout.get()) != nullptr;
    refs.push_back(blocked ? program.as(in(i), described(spec), plain(spec.sizes))
                           : in(i));
    spec.layout = nullptr;
  }
  const PlanPtr loops = reference::make_plan(plain_request);
  program.run([loops, refs](const KernelArgs& args) {
    std::vector<View> inputs(args.in.begin(), args.in.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].layout = nullptr;
      if (refs[i].kind == Ref::Kind::scratch) {
        inputs[i].data = static_cast<char*>(args.workspace) + refs[i].index;
      }
    }
    loops->run({inputs, args.out, nullptr, args.scalars});
  });
  auto plan = std::make_shared<Plan>(*program.finish({}, loops->extra));
  plan->impl = loops->impl;
  return plan;
}

}  // namespace lockstep::cpu
