// The notebook, cell by cell: the shape of a batch, the model as PyTorch prints it,
// what `to` does to a tensor and to a module, and forward passes that print their
// sizes.
#include <cstdio>

#include "engine/nn/init.h"
#include "engine/ops/copy.h"
#include "run/train.h"

namespace lockstep::run {
namespace {

/// Prints one line, as Python's print does.
void print(const std::string& line) { std::puts(line.c_str()); }

/// Python's `tensor.is_cuda`. Virtual devices stand for GPUs: they have their own
/// memory, too.
std::string is_cuda(const Tensor& tensor) {
  return tensor.device().is_host() ? "False" : "True";
}

/// `next(iter(rand_loader)).shape`
void print_shape_of_a_batch(data::DataLoader& loader) {
  loader.start_epoch(0);
  if (const auto batch = loader.next()) {
    print("torch.Size(" + Shape(batch->shape).str() + ")");
  }
}

/// A tensor's `to` returns a copy on the device; the tensor stays where it was.
void move_a_tensor(Device device) {
  const Tensor a = nn::initial({3, 4}, nn::Init::normal(1));
  print("a.is_cuda " + is_cuda(a));
  const Tensor b = ops::copy_to(a, device, {"h2d", "b"});
  print("a.is_cuda " + is_cuda(a));
  print("b.is_cuda " + is_cuda(b));
}

/// A module's `to` moves the module's own parameters and returns the module: `a` and
/// `b` are the same.
void move_a_module(Device device) {
  models::Toy a(3, 4);
  print(is_cuda(a.parameters()[0]));
  const nn::Module& b = a.to(device);
  print(is_cuda(a.parameters()[0]));
  print(is_cuda(b.parameters()[0]));
}

}  // namespace

void run_notebook(const RunConfig& c, train::Trainer& trainer, const DataSets& data) {
  const auto& devices = trainer.options().devices;
  const auto loader = train_loader(c, data, {});
  print_shape_of_a_batch(*loader);
  if (devices.size() > 1) std::printf("Let's use %zu GPUs!\n", devices.size());
  print(trainer.callable()->repr());
  move_a_tensor(devices[0]);
  move_a_module(devices[0]);
  trainer.forward_only(*loader, c.steps);
}

}  // namespace lockstep::run
