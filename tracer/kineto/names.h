// How PyTorch's profiler (libkineto) spells what we call otherwise. The exporter, the
// importer and the viewer read the same tables.
// Source: libkineto/include/ActivityType.h, libkineto/src/output_json.cpp,
// torch/csrc/distributed/c10d/ParamCommsUtils.hpp, and recorded files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::tracer {

/// Our category for one of PyTorch's: `cpu_op` → `op`. A `gpu_memcpy` is a `kernel`
/// here: whether it leaves its device, its name says. "" for what we have no word for.
std::string_view category_of_kineto(std::string_view cat);

/// `ProfilerStep#7`: the profiler has no other mark of a training step. -1: none.
int64_t profiler_step_number(std::string_view name);
std::string profiler_step_name(int64_t step);

/// A `Memcpy HtoD (Pinned -> Device)` says in its name from where to where.
enum class MemcpyWay : uint8_t { none, to_device, to_host, between_devices };
MemcpyWay memcpy_way(std::string_view name);

/// The names of a collective: ours and the annotation's, the argument's, the kernel's.
struct CollectiveNames {
  std::string_view ours;    ///< `all_reduce`; annotated as `nccl:all_reduce`
  std::string_view arg;     ///< `Collective name`: `allreduce`
  std::string_view kernel;  ///< `AllReduce`, as in ncclKernel_AllReduce_RING_Sum_…
};
/// nullptr if unknown. Of a kernel's name, the collective that it holds.
const CollectiveNames* collective_of_ours(std::string_view name);
const CollectiveNames* collective_of_arg(std::string_view arg);
const CollectiveNames* collective_of_kernel(std::string_view kernel);

/// A kernel of NCCL, or of AMD's copy of it.
bool is_nccl_kernel(std::string_view name);

/// `float32` is `Float` as an argument, `float` as an `Input type` and in kernels.
struct TypeNames {
  std::string_view ours, arg, input, kernel;
  int64_t bytes;
};
const TypeNames* type_of_ours(std::string_view name);
const TypeNames* type_of_arg(std::string_view arg);

/// A phase of ours as torch.profiler annotates it (`optimizer` →
/// `Optimizer.step#SGD.step`), and back; other names stay as they are.
std::string_view annotation_of_phase(std::string_view phase);
std::string_view phase_of_annotation(std::string_view annotation);

}  // namespace lockstep::tracer
