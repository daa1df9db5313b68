#include "engine/backends/engine_folder.h"

#include <dlfcn.h>

namespace lockstep {

std::string engine_folder() {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&engine_folder), &here);
  const std::string path = here.dli_fname ? here.dli_fname : "";
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

}  // namespace lockstep
