// Plans of elementwise operations: all tensors are converted to a common form.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "engine/backends/cuda/kernels/elementwise.h"
#include "engine/backends/cuda/kernels/many.h"
#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

template <class Machine>
Step turn_step(Ref from, Ref to, int64_t count, int64_t a, int64_t b) {
  const auto n = static_cast<Index>(count);
  return [=](const KernelArgs& args) {
    with_element(from.form, [&](auto in) {
      with_element(to.form, [&](auto out) {
        using From = decltype(in);
        using To = decltype(out);
        Machine::for_each(n, Turn<From, To>{from.in<From>(args), to.in<To>(args),
                                            Index(a), Index(b)});
      });
    });
  };
}

template <class Machine>
void reduce_elements(void* into, const void* from, int64_t numel, DType dtype,
                     ReduceOp op) {
  const auto reduce_as = [&](auto zero) {
    using T = decltype(zero);
    Machine::for_each(
        static_cast<Index>(numel),
        Reduce<T>{static_cast<T*>(into), static_cast<const T*>(from), op});
  };
  switch (dtype) {
    case DType::f32:
      return reduce_as(float());
    case DType::f64:
      return reduce_as(double());
    case DType::i64:
      return reduce_as(int64_t());
    case DType::u8:
      return reduce_as(uint8_t());
  }
}

/// Returns a step that copies `bytes` bytes, one Word at a time.
template <class Machine, class Word>
Step copy_words_step(int64_t bytes) {
  return [bytes](const KernelArgs& args) {
    Machine::for_each(Index(bytes / sizeof(Word)),
                      CopyWords<Word>{args.in[0].as<Word>(), args.out[0].as<Word>()});
  };
}

template <class Machine>
PlanPtr plan_copy(const PlanRequest& r) {
  Steps steps("lockstep:copy");
  const TensorSpec& x = r.in[0];
  if (x.dtype == DType::f32) {
    const Ref from = input(r, 0), to = output(0);
    int64_t a = 1, b = 1;
    if (from.form.nhwc) a = x.sizes[1], b = x.sizes[2] * x.sizes[3];
    steps.add(turn_step<Machine>(from, to, x.sizes.numel(), a, b));
    return steps.finish(r);
  }
  const int64_t bytes = x.sizes.numel() * static_cast<int64_t>(item_size(x.dtype));
  steps.add(bytes % 4 == 0 ? copy_words_step<Machine, uint32_t>(bytes)
                           : copy_words_step<Machine, uint8_t>(bytes));
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_transpose(const PlanRequest& r) {
  Steps steps("lockstep:transpose");
  const Shape& x = r.in[0].sizes;
  const Ref from = as<Machine>(steps, input(r, 0), x, Form{});
  steps.add(turn_step<Machine>(from, output(0), x.numel(), x[1], x[0]));
  return steps.finish(r);
}

template <class Machine, class Word>
Step flatten_step() {
  return [](const KernelArgs& args) {
    Word* out = args.out[0].as<Word>();
    for (size_t start = 0; start < args.in.size(); start += kMany) {
      Flatten<Word> table{};
      Index largest = 0;
      for (size_t t = start; t < std::min<size_t>(start + kMany, args.in.size()); ++t) {
        const View& x = args.in[t];
        const auto size = static_cast<Index>(x.bytes() / sizeof(Word));
        table.entry[table.count++] = {x.as<Word>(), out, size};
        out += size;
        largest = std::max(largest, size);
      }
      Machine::for_many(table, largest);
    }
  };
}

template <class Machine>
PlanPtr plan_flatten(const PlanRequest& r) {
  Steps steps("lockstep:flatten");
  steps.add(item_size(r.out[0].dtype) % 4 == 0 ? flatten_step<Machine, uint32_t>()
                                               : flatten_step<Machine, uint8_t>());
  return steps.finish(r);
}

/// The result has the form that a convolution reads.
template <class Machine>
PlanPtr plan_normalize_images(const PlanRequest& r) {
  Steps steps("lockstep:normalize_images");
  const Shape& x = r.in[0].sizes;
  const Ref y = output(0, activation_form(x, backend_options().amp));
  const auto plane = static_cast<Index>(x[2] * x[3]);
  steps.add([=, n = static_cast<Index>(x.numel())](const KernelArgs& args) {
    with_element(y.form, [&](auto zero) {
      using T = decltype(zero);
      NormalizeImages<T> kernel{args.in[0].as<uint8_t>(), y.in<T>(args), plane,
                                y.form.nhwc};
      for (int channel = 0; channel < 3; ++channel) {
        kernel.mean[channel] = static_cast<float>(args.scalars[channel]);
        kernel.std[channel] = static_cast<float>(args.scalars[3 + channel]);
      }
      Machine::for_each(n, kernel);
    });
  });
  return steps.finish(r, {y.form});
}

/// As in reference/elementwise.cpp, the mask is in plain order.
template <class Machine>
PlanPtr plan_dropout(const PlanRequest& r) {
  Steps steps("lockstep:dropout");
  const Ref x = as<Machine>(steps, input(r, 0), r.in[0].sizes, Form{});
  const auto n = static_cast<Index>(r.in[0].sizes.numel());
  if (r.code == OpCode::dropout) {
    steps.add([=](const KernelArgs& args) {
      const double p = args.scalars[0];
      Machine::for_each(
          (n + 3) / 4,
          Dropout{x.in<float>(args), args.out[0].as<float>(), args.out[1].as<uint8_t>(),
                  n, static_cast<uint64_t>(args.scalars[1]),
                  static_cast<uint64_t>(args.scalars[2]),
                  static_cast<uint32_t>(p * 0x1p32), static_cast<float>(1 / (1 - p))});
    });
    return steps.finish(r);
  }
  steps.add([=](const KernelArgs& args) {
    Machine::for_each(n,
                      DropoutBackward{x.in<float>(args), args.in[1].as<uint8_t>(),
                                      args.out[0].as<float>(),
                                      static_cast<float>(1 / (1 - args.scalars[0]))});
  });
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_relu(const PlanRequest& r) {
  Steps steps("lockstep:relu");
  const Ref x = input(r, 0), y = output(0, x.form);
  const auto n = static_cast<Index>(r.in[0].sizes.numel());
  steps.add([=](const KernelArgs& args) {
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.in<T>(args);
      T* to = y.in<T>(args);
      with_packs<T>(n, {from, to}, [&](auto pack) {
        Machine::for_each(n / pack(), Relu<T, pack()>{from, to});
      });
    });
  });
  return steps.finish(r, {x.form});
}

template <class Machine>
PlanPtr plan_relu_backward(const PlanRequest& r) {
  Steps steps("lockstep:relu_backward");
  const Ref y = input(r, 1), dx = output(0, y.form);
  const Ref dy = as<Machine>(steps, input(r, 0), r.in[1].sizes, y.form);
  const auto n = static_cast<Index>(r.in[1].sizes.numel());
  steps.add([=](const KernelArgs& args) {
    with_element(y.form, [&](auto zero) {
      using T = decltype(zero);
      const T *grads = dy.in<T>(args), *values = y.in<T>(args);
      T* to = dx.in<T>(args);
      with_packs<T>(n, {grads, values, to}, [&](auto pack) {
        Machine::for_each(n / pack(), ReluBackward<T, pack()>{grads, values, to});
      });
    });
  });
  return steps.finish(r, {y.form});
}

template <class Machine>
PlanPtr plan_add(const PlanRequest& r) {
  Steps steps("lockstep:add");
  const Ref a = input(r, 0), y = output(0, a.form);
  const Ref b = as<Machine>(steps, input(r, 1), r.in[1].sizes, a.form);
  const bool masked = given(r, 2), relu = r.attributes.relu;
  const Ref mask =
      masked ? as<Machine>(steps, input(r, 2), r.in[2].sizes, a.form) : Ref{};
  const auto n = static_cast<Index>(r.in[0].sizes.numel());
  steps.add([=](const KernelArgs& args) {
    with_element(a.form, [&](auto zero) {
      using T = decltype(zero);
      const T *left = a.in<T>(args), *right = b.in<T>(args);
      const T* values = masked ? mask.in<T>(args) : nullptr;
      T* to = y.in<T>(args);
      with_packs<T>(n, {left, right, values, to}, [&](auto pack) {
        Machine::for_each(n / pack(), Add<T, pack()>{left, right, values, to, relu});
      });
    });
  });
  return steps.finish(r, {a.form});
}

template <class Machine>
PlanPtr plan_pairwise(const PlanRequest& r, Pairwise what) {
  Steps steps("lockstep:pairwise");
  const Form form = float_form(form_of(r.in[0]));
  const bool one = r.in[1].sizes.numel() == 1;
  const Ref a = as<Machine>(steps, input(r, 0), r.in[0].sizes, form);
  const Ref b = as<Machine>(steps, input(r, 1), r.in[1].sizes, one ? Form{} : form);
  const Ref y = output(0, form);
  const auto n = static_cast<Index>(r.in[0].sizes.numel());
  steps.add([=](const KernelArgs& args) {
    Machine::for_each(n, PairwiseOp<float>{a.in<float>(args), b.in<float>(args),
                                           y.in<float>(args), one ? 0u : 1u, what});
  });
  return steps.finish(r, {form});
}

template <class Machine>
PlanPtr plan_scale(const PlanRequest& r) {
  Steps steps("lockstep:scale");
  const Ref x = input(r, 0), y = output(0, x.form);
  const auto n = static_cast<Index>(r.in[0].sizes.numel());
  steps.add([=](const KernelArgs& args) {
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      Machine::for_each(n, Scale<T>{x.in<T>(args), y.in<T>(args),
                                    static_cast<float>(args.scalars[0])});
    });
  });
  return steps.finish(r, {x.form});
}

template <class Machine, class T>
Step fill_step(Index n) {
  return [n](const KernelArgs& args) {
    Machine::for_each(n, Fill<T>{args.out[0].as<T>(), static_cast<T>(args.scalars[0])});
  };
}

template <class Machine>
PlanPtr plan_fill(const PlanRequest& r) {
  Steps steps("lockstep:fill");
  const auto n = static_cast<Index>(r.out[0].sizes.numel());
  steps.add(r.out[0].dtype == DType::i64 ? fill_step<Machine, int64_t>(n)
                                         : fill_step<Machine, float>(n));
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_elementwise(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::relu:
      return plan_relu<Machine>(r);
    case OpCode::relu_backward:
      return plan_relu_backward<Machine>(r);
    case OpCode::add:
      return plan_add<Machine>(r);
    case OpCode::subtract:
      return plan_pairwise<Machine>(r, Pairwise::subtract);
    case OpCode::multiply:
      return plan_pairwise<Machine>(r, Pairwise::multiply);
    case OpCode::divide:
      return plan_pairwise<Machine>(r, Pairwise::divide);
    case OpCode::scale:
      return plan_scale<Machine>(r);
    case OpCode::fill:
      return plan_fill<Machine>(r);
    case OpCode::copy:
      return plan_copy<Machine>(r);
    case OpCode::transpose:
      return plan_transpose<Machine>(r);
    case OpCode::flatten_many:
      return plan_flatten<Machine>(r);
    case OpCode::normalize_images:
      return plan_normalize_images<Machine>(r);
    case OpCode::dropout:
    case OpCode::dropout_backward:
      return plan_dropout<Machine>(r);
    default:
      throw std::runtime_error(std::string("cuda: no kernel for ") + name(r.code));
  }
}

}  // namespace lockstep::cuda
