// The tensor layouts of this backend.
#pragma once

#include "engine/tensor/tensor.h"

namespace lockstep::cuda {

/// Activations are N×H×W×C, for tensor cores; with `--amp` they are stored as bfloat16
/// although logically float32. Gradients of a convolution's weights are O×kH×kW×C, as
/// cuDNN writes them, in float32. All other tensors are plain.
struct Form {
  bool nhwc = false;
  bool bf16 = false;
  bool operator==(const Form&) const = default;
};

Form form_of(const TensorSpec& spec);
Form form_of(const View& view);
/// Returns the form of activations of that shape: channels last unless both orders
/// coincide.
Form activation_form(const Shape& sizes, bool bf16);
/// Returns `form` with float32 elements.
Form float_form(Form form);
size_t bytes_of(const Shape& sizes, Form form);
/// Returns null for plain float32; layouts of equal form and size share one object.
LayoutPtr layout_of(const Shape& sizes, Form form);

}  // namespace lockstep::cuda
