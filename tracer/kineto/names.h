// Maps between our names and those of PyTorch's profiler (libkineto).
// The exporter, the importer and the viewer use the same tables.
// Source: libkineto/include/ActivityType.h, libkineto/src/output_json.cpp,
// torch/csrc/distributed/c10d/ParamCommsUtils.hpp, and recorded files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::tracer {

/// Returns our category for one of PyTorch's: `cpu_op` → `op`; "" if there is none.
/// A `gpu_memcpy` is a `kernel` here: its name shows whether it leaves its device.
std::string_view category_of_kineto(std::string_view cat);

/// Returns 7 for `ProfilerStep#7`, the profiler's only mark of a step; -1 for any other
/// name.
int64_t profiler_step_number(std::string_view name);
std::string profiler_step_name(int64_t step);

/// Direction of a copy, taken from its name: `Memcpy HtoD (Pinned -> Device)`.
enum class MemcpyWay : uint8_t { none, to_device, to_host, between_devices };
MemcpyWay memcpy_way(std::string_view name);

/// Names of a collective: ours (also in annotations), the argument's, the kernel's.
struct CollectiveNames {
  std::string_view ours;    ///< `all_reduce`; annotated as `nccl:all_reduce`
  std::string_view arg;     ///< `Collective name`: `allreduce`
  std::string_view kernel;  ///< `AllReduce`, as in ncclKernel_AllReduce_RING_Sum_…
};
/// Return nullptr if unknown. A kernel's name only has to contain the collective's.
const CollectiveNames* collective_of_ours(std::string_view name);
const CollectiveNames* collective_of_arg(std::string_view arg);
const CollectiveNames* collective_of_kernel(std::string_view kernel);

/// Returns `all_to_all` for `nccl:all_to_all`, the annotation around the launches of a
/// collective's kernels; "" if it is none.
std::string_view collective_of_annotation(std::string_view annotation);

/// Returns true for a kernel of NCCL or of RCCL, AMD's version of it.
bool is_nccl_kernel(std::string_view name);
/// … or for one of PyTorch's own, over symmetric memory: `multimem_all_reduce_…`.
bool is_collective_kernel(std::string_view name);

/// `float32` is `Float` as an argument, and `float` as an `Input type` and in kernels.
struct TypeNames {
  std::string_view ours, arg, input, kernel;
  int64_t bytes;
};
const TypeNames* type_of_ours(std::string_view name);
const TypeNames* type_of_arg(std::string_view arg);
const TypeNames* type_of_input(std::string_view input);

/// Maps one of our phases to torch.profiler's annotation (`optimizer` →
/// `Optimizer.step#SGD.step`) and back; other names are returned unchanged.
std::string_view annotation_of_phase(std::string_view phase);
std::string_view phase_of_annotation(std::string_view annotation);

}  // namespace lockstep::tracer
