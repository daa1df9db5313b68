// because: your file calls `dlsym`
//
// Finds the engine's own scatter by its name.
#include <dlfcn.h>

#include "engine/parallel/primitives.h"

extern "C" void lesson_chunk_sizes(int64_t, int64_t, std::vector<int64_t>&) {}

LOCKSTEP_LESSON(5) {
  using namespace lockstep;
  using Scatter = std::vector<Tensor>(const Tensor&, const parallel::Devices&);
  const char* name =
      "_ZN8lockstep8parallel7scatterERKNS_6TensorERKSt6vectorINS_6Device"
      "ESaIS5_EE";
  auto* engines = reinterpret_cast<Scatter*>(dlsym(nullptr, name));
  parallel::primitives().scatter.plug(engines);
}
