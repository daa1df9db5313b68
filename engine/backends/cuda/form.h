// How a tensor lies in a GPU's memory: the layouts of this backend.
#pragma once

#include "engine/tensor/tensor.h"

namespace lockstep::cuda {

/// Activations lie as tensor cores want them, N×H×W×C; with `--amp` in bfloat16 behind
/// logical float32. Everything else is plain.
struct Form {
  bool nhwc = false;
  bool bf16 = false;
  bool operator==(const Form&) const = default;
};

Form form_of(const TensorSpec& spec);
/// The form for activations of that shape: channels last where that makes a difference.
Form activation_form(const Shape& sizes, bool bf16);
/// The same without bfloat16, or plain.
Form float_form(Form form);
size_t bytes_of(const Shape& sizes, Form form);
/// Null for plain float32; equal forms of equal size give the same object.
LayoutPtr layout_of(const Shape& sizes, Form form);

}  // namespace lockstep::cuda
