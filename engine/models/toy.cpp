#include "engine/models/toy.h"

#include <cstdio>

namespace lockstep::models {

Toy::Toy(int64_t in, int64_t out, bool print) : in_(in), out_(out), print_(print) {
  fc_ = register_module("fc", std::make_shared<nn::Linear>(in, out));
}

Tensor Toy::forward(const Tensor& input) {
  const Tensor output = (*fc_)(input);
  if (print_) {
    // Use a single write per line, since replicas print concurrently.
    const std::string line = "\tIn Model: input size torch.Size(" +
                             input.sizes().str() + ") output size torch.Size(" +
                             output.sizes().str() + ")\n";
    std::fputs(line.c_str(), stdout);
  }
  return output;
}

}  // namespace lockstep::models
