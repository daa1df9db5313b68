#include "tests/engine/backends/simulated_gpu.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "engine/backends/cuda/plans/table.h"
#include "engine/backends/load_cuda.h"
#include "engine/runtime/pinned_memory.h"
#include "tests/engine/backends/host_machine.h"
#include "tests/engine/backends/simulated_nccl.h"
#include "tests/engine/backends/simulated_queue.h"

namespace lockstep::test {
namespace {

bool simulated = false;
std::atomic<int64_t> direct = 0;     // copies from pinned memory
std::atomic<int64_t> disturbed = 0;  // kernels chosen by time while others ran

struct FakeDriver : runtime::Driver {
  void* allocate(Device, size_t bytes) override {
    void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(data, 0xff, bytes);  // reading uninitialized memory gives NaN
    return data;
  }
  void free(Device, void* data) noexcept override { std::free(data); }
  std::unique_ptr<runtime::Queue> make_queue(Device) override {
    return std::make_unique<FakeQueue>();
  }
  runtime::Queue& current_queue() override { return FakeQueue::current(); }
  void copy(void* to, Device to_device, const void* from, Device from_device,
            size_t bytes) override {
    if (from_device.is_host()) {  // the caller may reuse `from` on return
      const auto* start = static_cast<const char*>(from);
      auto staged = std::make_shared<std::vector<char>>(start, start + bytes);
      FakeQueue::current().launch([=] { std::memcpy(to, staged->data(), bytes); });
      return;
    }
    if (!to_device.is_host()) {
      FakeQueue::current().launch([=] { std::memcpy(to, from, bytes); });
      return;
    }
    if (FakeQueue::current().capturing()) {  // which would wait for it
      throw std::runtime_error("cudaErrorCapturedEvent");
    }
    const auto there = std::make_shared<FakeMark>();
    FakeQueue::current().launch([=] {
      std::memcpy(to, from, bytes);
      there->reach();
    });
    there->wait();
    cuda::Fault& fault = *HostMachine::fault();
    if (!fault.found) return;
    fault.found = 0;
    throw std::runtime_error("Target " + std::to_string(fault.label) +
                             " is out of bounds.");
  }
  void reduce(void* into, Device, const void* from, Device, int64_t numel, DType dtype,
              ReduceOp op) override {
    if (dtype == DType::u8) throw std::runtime_error("a simulated launch failed");
    FakeQueue::current().launch(
        [=] { cuda::reduce_elements<HostMachine>(into, from, numel, dtype, op); });
  }
  runtime::PinnedMemory* pinned_memory() override { return &memory_; }
  void copy_pinned(void* to, Device, const void* from, size_t bytes) override {
    ++direct;
    FakeQueue::current().launch([=] { std::memcpy(to, from, bytes); });
  }

 private:
  runtime::PinnedMemory memory_{[](size_t bytes) { return std::malloc(bytes); }};
};

struct FakeBackend : Backend {
  runtime::Driver* driver() override { return &driver_; }
  bool can_fuse_relu(OpCode code) const override { return cuda::takes_relu(code); }
  bool can_fuse_relu_backward(OpCode code) const override {
    return cuda::takes_relu_backward(code);
  }
  bool can_fuse_add(OpCode code) const override { return cuda::takes_add(code); }
  bool can_fuse_sum(OpCode code) const override { return cuda::takes_sum(code); }
  LayoutPtr convolution_layout(const TensorSpec& tensor) const override {
    return cuda::convolution_layout(tensor);
  }

 protected:
  bool times_kernels(OpCode code) const override { return is_benchmarked(code); }
  bool plans_concurrently() const override { return true; }
  PlanPtr make_plan(const PlanRequest& request) override {
    if (is_benchmarked(request.code) && FakeQueue::unfinished() > 0) ++disturbed;
    auto plan = std::make_shared<Plan>(*cuda::make_plan<HostMachine>(request));
    plan->run = [run = plan->run](const KernelArgs& args) {
      const std::vector<View> in(args.in.begin(), args.in.end());
      const std::vector<View> out(args.out.begin(), args.out.end());
      FakeQueue::current().launch(
          [=, workspace = args.workspace, scalars = args.scalars] {
            run({in, out, workspace, scalars});
          });
    };
    return plan;
  }

 private:
  FakeDriver driver_;
};

}  // namespace

const CudaModule* simulated_module() {
  static const CudaModule* const module = [] {
    auto* made = new CudaModule;
    made->backend = new FakeBackend;
    made->gpus = {"simulated GPU"};
    made->libraries = "none";
    made->make_device_group = simulated_device_group;
    made->make_nccl = simulated_communicator;
    return made;
  }();
  return module;
}

void simulate_gpus() {
  static const bool once = [] {
    stand_in_for_cuda(simulated_module());
    return simulated = true;
  }();
  (void)once;
}

int64_t direct_copies() { return direct; }

int64_t disturbed_choices() { return disturbed; }

bool gpus_are_simulated() { return simulated; }

}  // namespace lockstep::test
