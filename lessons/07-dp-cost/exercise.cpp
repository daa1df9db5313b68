// Lesson 07: what a step of DataParallel costs, and how VGG can pay less.
#include <algorithm>

#include "engine/models/vgg.h"
#include "engine/train/trainer.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// The byte sizes of a training step of DataParallel. (The check fills it in and passes
/// it to you: do not change these two types.)
struct Step {
  int64_t devices;     // there may be fewer chunks than devices; device 0 has the model
  int64_t batch;       // samples; their images are on the host
  int64_t sample;      // bytes of one image
  int64_t output;      // bytes of the wrapped module's output for one image
  int64_t labels;      // bytes of all labels; only the loss, on device 0, needs them
  int64_t parameters;  // bytes of the wrapped module's parameters
  int64_t buffers;     // and of its buffers (a batch norm's running statistics)
  int64_t numbers;     // bytes of loss and accuracies, which the host reads at the end
};

/// Bytes that enter and leave the memory of a device, or of the host.
struct Port {
  int64_t in = 0, out = 0;
};

/// Given: what leaves one port enters another.
void send(Port& from, Port& to, int64_t bytes) {
  from.out += bytes;
  to.in += bytes;
}

/// Adds up all bytes that move in one training step. `device` points to a port for each
/// device; all ports begin at zero. Think of the reasons that a trace gives for its
/// copies: h2d (labels) and scatter (images), replicate, gather, grad_scatter, reduce,
/// d2h. (The check calls this function by its name.)
extern "C" void predict(const Step& step, Port& host, Port* device) {
  // [solution-predict]
  const int64_t size = (step.batch + step.devices - 1) / step.devices;
  send(host, device[0], step.labels);   // h2d
  send(device[0], host, step.numbers);  // d2h
  for (int64_t d = 0; d * size < step.batch; ++d) {
    const int64_t samples = std::min(size, step.batch - d * size);
    send(host, device[d], samples * step.sample);  // scatter
    if (d == 0) continue;  // everything else is on device 0 already
    send(device[0], device[d], step.parameters + step.buffers);  // replicate
    send(device[d], device[0], samples * step.output);           // gather
    send(device[0], device[d], samples * step.output);           // grad_scatter
    send(device[d], device[0], step.parameters);                 // reduce
  }
  return;
  // [/solution-predict]
  lessons::not_written("predict: which bytes pass which port?");
}

/// Wraps the part with most of the computation and few of the bytes into DataParallel,
/// in its place in the model, and returns the wrapper. `model` is a `models::VGG` (see
/// its `features()` and `set_features(module)`);
/// `std::make_shared<parallel::DataParallel>(module, devices)` creates a wrapper.
std::shared_ptr<parallel::DataParallel> wrap(nn::Module& model,
                                             const parallel::Devices& devices) {
  // [solution-wrap]
  auto& vgg = dynamic_cast<models::VGG&>(model);
  auto wrapper = std::make_shared<parallel::DataParallel>(vgg.features(), devices);
  vgg.set_features(wrapper);
  return wrapper;
  // [/solution-wrap]
  lessons::not_written("wrap: which part of VGG should be replicated?");
}

LOCKSTEP_LESSON(7) { train::feature_wrapper().plug(wrap); }
