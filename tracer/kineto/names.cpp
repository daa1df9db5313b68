#include "tracer/kineto/names.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace lockstep::tracer {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Most frequent ones first; PyTorch used the capitalized ones until 1.12.
constexpr Pair kCategories[] = {
    {"cpu_op", "op"},
    {"cuda_runtime", "call"},
    {"cuda_driver", "call"},
    {"kernel", "kernel"},
    {"python_function", "call"},
    {"user_annotation", "call"},
    {"gpu_memcpy", "kernel"},
    {"gpu_memset", "kernel"},
    {"cuda_sync", "sync"},
    {"Operator", "op"},
    {"Runtime", "call"},
    {"Kernel", "kernel"},
    {"Memcpy", "kernel"},
    {"Memset", "kernel"},
    // Calls to the runtimes of other accelerators, whose kernels are `kernel`.
    {"xpu_runtime", "call"},
    {"xpu_driver", "call"},
    {"mtia_runtime", "call"},
    {"privateuse1_runtime", "call"},
    {"privateuse1_driver", "call"},
};

constexpr CollectiveNames kCollectives[] = {
    {"all_reduce", "allreduce", "AllReduce"},
    {"broadcast", "broadcast", "Broadcast"},
    {"reduce_scatter", "reduce_scatter", "ReduceScatter"},
    {"reduce_scatter", "_reduce_scatter_base", "ReduceScatter"},
    {"all_gather", "all_gather", "AllGather"},
    {"all_gather", "_allgather_base", "AllGather"},
    {"send_recv", "send_recv", "SendRecv"},  // all that a kernel's name tells
    {"send", "send", "SendRecv"},
    {"recv", "recv", "SendRecv"},
    {"all_to_all", "all_to_all", "SendRecv"},
    {"all_to_all", "all_to_allv", "SendRecv"},
    {"reduce", "reduce", "Reduce"},  // after the names that begin with it
    {"barrier", "barrier", "AllReduce"},
};

constexpr TypeNames kTypes[] = {
    {"float32", "Float", "float", "float", 4},
    {"float64", "Double", "double", "double", 8},
    {"int64", "Long", "long int", "int64_t", 8},
    {"int64", "Long", "long", "int64_t", 8},
    {"float16", "Half", "c10::Half", "half", 2},
    {"bfloat16", "BFloat16", "c10::BFloat16", "__nv_bfloat16", 2},
    {"int32", "Int", "int", "int32_t", 4},
    {"uint8", "Byte", "unsigned char", "uint8_t", 1},
    {"int8", "Char", "signed char", "int8_t", 1},
    {"bool", "Bool", "bool", "uint8_t", 1},
};

constexpr Pair kPhases[] = {
    {"data", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
    {"optimizer", "Optimizer.step#SGD.step"},
};

constexpr std::string_view kStep = "ProfilerStep#";
constexpr std::string_view kNccl = "nccl:";

template <typename Table, typename Matches>
auto find(const Table& table, Matches matches) {
  const auto found = std::find_if(std::begin(table), std::end(table), matches);
  return found == std::end(table) ? nullptr : &*found;
}

}  // namespace

std::string_view category_of_kineto(std::string_view cat) {
  const Pair* pair = find(kCategories, [&](const Pair& p) { return p.first == cat; });
  return pair ? pair->second : std::string_view();
}

int64_t profiler_step_number(std::string_view name) {
  if (!name.starts_with(kStep)) return -1;
  name.remove_prefix(kStep.size());
  int64_t number = -1;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return std::max<int64_t>(number, -1);
}

std::string profiler_step_name(int64_t step) {
  return std::string(kStep) + std::to_string(step);
}

MemcpyWay memcpy_way(std::string_view name) {
  if (!name.starts_with("Memcpy ")) return MemcpyWay::none;
  const auto has = [&](std::string_view way) { return name.find(way) != name.npos; };
  if (has("HtoD")) return MemcpyWay::to_device;
  if (has("DtoH")) return MemcpyWay::to_host;
  return has("PtoP") ? MemcpyWay::between_devices : MemcpyWay::none;
}

const CollectiveNames* collective_of_ours(std::string_view name) {
  return find(kCollectives, [&](const auto& c) { return c.ours == name; });
}

const CollectiveNames* collective_of_arg(std::string_view arg) {
  return find(kCollectives, [&](const auto& c) { return c.arg == arg; });
}

const CollectiveNames* collective_of_kernel(std::string_view kernel) {
  const bool nccl = is_nccl_kernel(kernel);
  return find(kCollectives, [&](const auto& c) {
    return kernel.find(nccl ? c.kernel : c.ours) != kernel.npos;
  });
}

std::string_view collective_of_annotation(std::string_view annotation) {
  if (!annotation.starts_with(kNccl)) return {};
  annotation.remove_prefix(kNccl.size());
  annotation = annotation.substr(0, annotation.find(' '));  // `send 0->1`
  if (const CollectiveNames* names = collective_of_arg(annotation)) return names->ours;
  if (annotation.starts_with('_')) annotation.remove_prefix(1);
  if (annotation.ends_with("_base")) annotation.remove_suffix(5);
  return annotation;
}

bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("nccl") || name.find("ncclKernel") != name.npos ||
         name.find("ncclDevKernel") != name.npos;
}

bool is_collective_kernel(std::string_view name) {
  return is_nccl_kernel(name) || name.find("multimem_") != name.npos ||
         name.find("_shot_all_reduce") != name.npos;
}

const TypeNames* type_of_ours(std::string_view name) {
  return find(kTypes, [&](const auto& type) { return type.ours == name; });
}

const TypeNames* type_of_arg(std::string_view arg) {
  return find(kTypes, [&](const auto& type) { return type.arg == arg; });
}

const TypeNames* type_of_input(std::string_view input) {
  return find(kTypes, [&](const auto& type) { return type.input == input; });
}

std::string_view annotation_of_phase(std::string_view phase) {
  const Pair* pair = find(kPhases, [&](const Pair& p) { return p.first == phase; });
  return pair ? pair->second : phase;
}

std::string_view phase_of_annotation(std::string_view annotation) {
  if (annotation.starts_with("Optimizer.step#")) return "optimizer";
  if (annotation.starts_with("enumerate(DataLoader)#")) return "data";
  for (const std::string_view ours :
       {"h2d", "forward", "scatter", "replicate", "parallel_apply", "gather", "loss",
        "backward", "reduce", "all_reduce", "broadcast", "metrics"}) {
    if (annotation == ours) return ours;
  }
  return {};
}

}  // namespace lockstep::tracer
