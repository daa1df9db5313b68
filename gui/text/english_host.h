// English templates for the host: words, steps and phases, calls and operations.
// `english.h` explains the keys and facts.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishHost[] = {
    // Words.
    {"word/host", "the host"},
    {"word/Host", "The host"},
    {"word/device", "device {id}"},
    {"word/Device", "Device {id}"},
    {"word/model", "model"},
    {"word/replica", "replica"},
    {"word/sizes", "{size}"},
    {"word/sizes/last", "{size} (last: {rest})"},
    {"word/lane", "{process}, {thread}"},
    {"word/lane", "{thread}"},
    {"word/lane", "{process}"},
    {"ahead/one",
     "The host queues this in {time}; {device} finishes **{behind} later**."},
    {"ahead", "The host queues this in {time}; the devices finish **{behind} later**."},
    {"ahead", "It takes the host {time}."},
    {"later/kernel",
     "The call queues the kernel, which ran **{delay} later** on {device}[, for "
     "{run}]."},
    {"later/kernels",
     "The call queues {kernels} kernels; the first ran **{delay} later** on {device}."},
    {"later/copy", "The call queues the copy, which began **{delay} later**."},
    {"later/none", "It needs no work on a device."},

    // Where the recorded run failed.
    {"failed", "**The run failed here.** {error}"},

    // Steps and phases.
    {"step/ddp",
     "**Step {step}** of rank {rank} trains on **{batch} {batch:image|images}**, its "
     "own share of the batch[, in **{length}**]. The other {others:rank does|{others} "
     "ranks do} the same with theirs; only gradients, buffers and a few numbers are "
     "sent."},
    {"step/train",
     "**Step {step}** trains on **{batch} {batch:image|images}**[, cut into {chunks} "
     "chunks of {sizes}][, in **{length}**][: {rate} images per second].[ On the "
     "devices, {longest} takes longest: {longest_share} of the step.]"},
    {"step/eval",
     "**Step {step}** evaluates **{batch} {batch:image|images}**[, cut into {chunks} "
     "chunks of {sizes}][, in **{length}**][: {rate} images per second]. There is no "
     "backward pass, and no parameter changes."},
    {"step",
     "**Step {step}** takes **{length}** on {recorded} ranks[; the host of rank {rank} "
     "spends {host_time} in it]."},
    {"step",
     "**Step {step}** takes **{length}**[ on rank {rank}][; the host spends "
     "{host_time} in it]."},
    {"step", "**Step {step}**."},
    {"step", "One step[ takes **{length}**]."},
    {"phase/data",
     "The data loader hands over the next batch[, {batch} {batch:image|images}], after "
     "**{time}**[, {share} of the step]. Until then no device has work for this step."},
    {"phase/h2d/labels",
     "Only the **labels** ({bytes}) go to {to}: the loss will be computed there. The "
     "images stay on the host, because **scatter** will send each device its chunk."},
    {"phase/h2d",
     "The batch leaves the host's memory for {to}: **{bytes}** in {copies} "
     "{copies:copy|copies}. A kernel reads only its own device's memory."},
    {"phase/forward/ddp",
     "Rank {rank} runs **model(images)** on its own images, with its own model. "
     "DistributedDataParallel scatters nothing and replicates nothing.[ {ahead}]"},
    {"phase/broadcast",
     "Before forward, **rank 0's buffers** (a batch norm's running statistics) go to "
     "all {ranks} ranks[: **{bytes}** to each]. Parameters are not sent: all ranks "
     "update theirs identically.[ {ahead}]"},
    {"phase/metrics",
     "The {ranks} ranks sum their **losses and correct-prediction counts**[ ({bytes})] "
     "so that rank 0 can print the metrics of the whole batch.[ The host waits "
     "**{waited}** for them.]"},
    {"phase/forward/dp",
     "The host runs **model(images)**. DataParallel does this in four steps: scatter "
     "the batch, replicate the model, parallel_apply, gather the outputs.[ {ahead}]"},
    {"phase/forward",
     "The host runs **model(images)**, layer by layer: each operation is queued on the "
     "device, and recorded for backward.[ {ahead}]"},
    {"phase/forward/eval",
     "The host runs **model(images)**, layer by layer.[ {ahead}]"},
    {"phase/scatter/device",
     "**scatter** cuts the batch into {chunks} chunks of {sizes}, one for each device: "
     "**{bytes}** leave {from}[, in {cost}]. {From}'s own chunk stays there."},
    {"phase/scatter",
     "**scatter** cuts the batch into {chunks} chunks of {sizes}, one for each device: "
     "**{bytes}** leave {from} in {copies} {copies:copy|copies}[, in {cost}]."},
    {"phase/scatter",
     "**scatter** sends each device its chunk of the batch: **{bytes}** from {from} in "
     "{copies} {copies:copy|copies}."},
    {"phase/replicate/part",
     "{From} copies **the layers in DataParallel** ({each}; the whole model has "
     "{whole}) to {others:{other}|each of the {others} other devices}, as in **every** "
     "forward pass.[ On the devices, this spans **{cost}**, {share} of the step.][ All "
     "{moves} copies leave {from}, {turns}.]"},
    {"phase/replicate",
     "{From} copies **the model** ({each}) to {others:{other}|each of the {others} "
     "other devices}, as in **every** forward pass: the parameters live on {from}.[ On "
     "the devices, this spans **{cost}**, {share} of the step.][ All {moves} copies "
     "leave {from}, {turns}.]"},
    {"phase/parallel_apply",
     "{chunks} host threads call **forward**, each on its own replica with its own "
     "chunk[, and queue the work in {time}].[ The devices compute in parallel, in "
     "**{cost}**, {share} of the step.]"},
    {"phase/gather",
     "The outputs of {others:{other}|the {others} other devices} (**{bytes}**) go to "
     "{to}: the loss is computed there, once, over the whole batch."},
    {"phase/loss/ddp",
     "The loss is computed[ on {device}] over rank {rank}'s **own images** only.[ Then "
     "the host waits **{waited}** for its value (item()), because forward must finish "
     "first.]"},
    {"phase/loss",
     "The loss is computed[ on {device}] over the whole batch.[ Then the host waits "
     "**{waited}** for its value (item()), because forward must finish first.]"},
    {"phase/backward/dp",
     "**loss.backward()**: autograd walks the recorded graph backwards, on {chunks} "
     "devices at once, each for its own chunk[. This takes the devices **{cost}**, "
     "{share} of the step][, **{ratio} times** as long as forward]."},
    {"phase/backward/ddp",
     "**loss.backward()** on rank {rank}. Each gradient that is ready is counted; when "
     "a **bucket** of them is full, its all-reduce starts **while backward "
     "continues**.[ It takes {cost}, {share} of the step.]"},
    {"phase/backward",
     "**loss.backward()**: autograd walks the recorded graph backwards and queues each "
     "op's gradient[. This takes the device **{cost}**, {share} of the step][, "
     "**{ratio} times** as long as forward]."},
    {"phase/reduce",
     "The gradients of {others:{other}|the {others} other devices} (**{each}{others:| "
     "from each}**) go to {to} and are added to its own: only its parameters change.[ "
     "On the devices, this spans **{cost}**, {share} of the step.][ All {moves} copies "
     "arrive at {to}, {turns}.]"},
    {"phase/all_reduce/bucket",
     "**Bucket {bucket}** is full[: {params} {params:gradient|gradients}, {bytes}]. "
     "Its all-reduce is queued on the comm stream[ and begins **{delay} later**]; "
     "meanwhile, backward continues."},
    {"phase/all_reduce/wait",
     "Backward has queued its last op. The compute stream of rank {rank} must **wait "
     "for the last all-reduce** before it copies the means from the buckets to .grad."},
    {"phase/all_reduce",
     "The devices sum their gradients, and each gets the whole sum[: **{bytes}** over "
     "all links].[ It takes **{cost}**, {share} of the step.] No device is the root."},
    {"phase/optimizer/dp",
     "**optimizer.step()** updates the parameters, on {device} only[, in {cost}][, "
     "{share} of the step]. The others get the new values with the next replicate."},
    {"phase/optimizer/ddp",
     "**optimizer.step()** updates rank {rank}'s parameters[, in {cost}]. All ranks "
     "have the same gradients, so their models stay identical and no parameter is "
     "sent."},
    {"phase/optimizer",
     "**optimizer.step()** updates each parameter from its gradient[, on {device}][, "
     "in {cost}][, {share} of the step]."},
    {"phase",
     "The **{name}** phase[ takes {time}][; its work on the devices takes {cost}, "
     "{share} of the step]."},

    // Calls.
    {"call/__call__/dp",
     "**model(images)** in main.py arrives here: model is a DataParallel[ over "
     "{chunks} {chunks:device|devices}]. In Python, calling a Module runs "
     "**__call__**, which is _call_impl, and that calls **forward**."},
    {"call/__call__/ddp",
     "**model(images)** in main.py arrives here: model is a DistributedDataParallel. "
     "Each of {ranks} ranks runs the same program on its own device, with a whole "
     "model of its own."},
    {"call/__call__/replica",
     "A separate host thread calls **replica(x)**[ for {device}]: {type}.__call__, "
     "which is _call_impl, which calls **forward**.[ x is {shape}, its chunk.]"},
    {"call/__call__/model",
     "**model(images)** in main.py arrives here: in Python, model(x) runs "
     "{type}.__call__, which is Module._call_impl. So **forward** appears nowhere in "
     "main.py."},
    {"call/__call__",
     "**{callee}(x)** looks like a function call: Python runs {type}.__call__, which "
     "leads to _call_impl, and then to **{type}.forward**.[ x is {shape}.]"},
    {"call/_call_impl",
     "**_call_impl** turns {callee}(x) into {type}.forward(x): first the forward "
     "pre-hooks, if any, then **forward**, then the forward hooks. Calling forward "
     "directly would skip the hooks."},
    {"call/forward/dp",
     "**DataParallel.forward** splits one model(x) across [{chunks} ]devices: scatter "
     "the batch, replicate the model, parallel_apply the replicas, gather the "
     "outputs.[ {ahead}]"},
    {"call/forward/ddp",
     "**DistributedDataParallel.forward** copies rank 0's buffers to all ranks, calls "
     "the model that it wraps, and prepares to count gradients in backward.[ {ahead}]"},
    {"call/forward/replica",
     "This is the **forward** that main.py never calls: model(images) → "
     "DataParallel.forward → replica(x) → **{type}.forward**.[ x is {shape}.][ "
     "{ahead}]"},
    {"call/forward/model",
     "This is the **forward** that main.py never calls: {callee}(x) → __call__ → "
     "_call_impl → **{type}.forward**.[ x is {shape}.][ {ahead}]"},
    {"call/forward",
     "**{type}.forward** does the work of {callee}(x)[; x is {shape}]. User code never "
     "calls it directly: __call__ and _call_impl lead here.[ {later}]"},
    {"call/Tensor.backward",
     "**loss.backward()** starts autograd: a thread per device walks the graph "
     "backwards and queues the gradient op of each forward op.[ {ahead}]"},
    {"call/cuda_runtime", "The host calls CUDA: **{name}**[, for {time}]."},
    {"call/cuda_driver", "The host calls CUDA's driver: **{name}**[, for {time}]."},
    {"call",
     "**{name}** runs on the host[ for {time}][, in {module}][; its input is "
     "{shape}].[ {later}]"},

    // Operations of forward; op/NAME/… is specific to a caller or a phase.
    {"op/aten::conv2d",
     "**aten::conv2d**[ in {module}] moves the filters {shape2} over {shape}[: "
     "**{flops}**].[ {later}]"},
    {"op/lockstep::reorder_for_convolutions",
     "The weights of the convolutions are copied to the order in which cuDNN reads "
     "them: **one kernel** for all of them, instead of one in each convolution.[ "
     "{later}]"},
    {"op/lockstep::normalize_images",
     "The bytes of the images, {shape}, become the model's input: divided by 255, "
     "minus the mean, divided by the standard deviation of each channel.[ {later}]"},
    {"op/aten::linear",
     "**aten::linear**[ in {module}] multiplies {shape} by the weights {shape2} and "
     "adds the bias[: **{flops}**].[ {later}]"},
    {"op/aten::batch_norm/split",
     "**aten::batch_norm**[ in {module}] normalises each channel of {shape} with the "
     "mean and variance of **this device's chunk only**; the other chunks have "
     "theirs.[ {later}]"},
    {"op/aten::batch_norm",
     "**aten::batch_norm**[ in {module}] normalises each channel of {shape}.[ "
     "{later}]"},
    {"op/aten::relu_/none",
     "**aten::relu_**[ in {module}] zeroes the negative values of {shape}. It has no "
     "kernel of its own: it is fused into the preceding one."},
    {"op/aten::relu_",
     "**aten::relu_**[ in {module}] zeroes the negative values of {shape}.[ {later}]"},
    {"op/aten::add/none/backward",
     "Two gradients of {shape} are added: forward used that tensor twice, so **its "
     "gradient is the sum** of both. The addition has no kernel of its own: it is "
     "fused into that of the batch norm after it."},
    {"op/aten::add_/none/backward",
     "Two gradients of {shape} are added: forward used that tensor twice, so **its "
     "gradient is the sum** of both. The addition has no kernel of its own: it is "
     "fused into that of the batch norm after it."},
    {"op/aten::add_/none",
     "**aten::add_**[ in {module}] adds the block's input to its output, {shape}: "
     "ResNet's shortcut. It has no kernel of its own: it is fused into that of the "
     "batch norm before it."},
    {"op/aten::add_/shortcut",
     "**aten::add_**[ in {module}] adds the block's input to its output, {shape}: "
     "ResNet's shortcut.[ {later}]"},
    {"op/aten::add_/backward",
     "Two gradients of {shape} are added: forward used that tensor twice, so **its "
     "gradient is the sum** of both.[ {later}]"},
    {"op/aten::add_/reduce",
     "The gradients that have arrived, {shape}, are **added** to the running sum. "
     "Nothing is divided: the loss is already a mean over the whole batch.[ {later}]"},
    {"op/aten::adaptive_avg_pool2d",
     "**aten::adaptive_avg_pool2d** averages each channel of {shape} down to a fixed "
     "height and width.[ {later}]"},
    {"op/aten::max_pool2d",
     "**aten::max_pool2d**[ in {module}] keeps the largest value of each window of "
     "{shape}.[ {later}]"},
    {"op/aten::flatten/none",
     "**aten::flatten** views {shape} as one row per image. The view shares its "
     "memory: nothing is computed and nothing moves."},
    {"op/aten::log_softmax",
     "**aten::log_softmax** turns the scores {shape} into logarithms of probabilities, "
     "one row per image.[ {later}]"},
    {"op/aten::nll_loss/ddp",
     "**aten::nll_loss** picks each image's value at the correct label and averages "
     "these values over rank {rank}'s own images: that number is its **loss**.[ "
     "{later}]"},
    {"op/aten::nll_loss",
     "**aten::nll_loss** picks each image's value at the correct label and averages "
     "these values over the whole batch: that number is the **loss**.[ {later}]"},
    {"op/aten::topk",
     "**aten::topk** checks whether the correct label is among the highest scores of "
     "{shape}: that gives the accuracy.[ {later}]"},
    {"op/aten::item",
     "**item()** needs a number on the host: {bytes} are copied from {from}, and the "
     "host waits[ **{waited}**] until they arrive. Meanwhile it queues nothing."},
    {"op/aten::full_like/backward",
     "Backward starts with d(loss)/d(loss), which is **1**.[ {later}]"},
    {"op/aten::_fused_sgd_",
     "**SGD** updates all {tensors} parameter {tensors:tensor|tensors} in place, in "
     "one kernel.[ {later}]"},
    {"op/aten::_fused_adam_",
     "**Adam** updates all {tensors} parameter {tensors:tensor|tensors} in place, in "
     "one kernel.[ {later}]"},
    {"op/aten::_fused_adamw_",
     "**AdamW** updates all {tensors} parameter {tensors:tensor|tensors} in place, in "
     "one kernel.[ {later}]"},
    {"op/lockstep::_fused_rmsprop_",
     "**RMSprop** updates all {tensors} parameter {tensors:tensor|tensors} in place, "
     "in one kernel.[ {later}]"},
    {"op/lockstep::create_plan",
     "The engine prepares the {kernel} kernel for shapes that it sees for the first "
     "time[, in {time}]; later calls reuse it."},
    {"op/c10d::allreduce_",
     "**c10d::allreduce_** queues an all-reduce[ of {bytes}] on the comm stream: the "
     "ranks sum their values, and each gets the result.[ It began **{delay} later**, "
     "concurrently with {device}'s computation.]"},
    {"op/c10d::broadcast_",
     "**c10d::broadcast_** queues a broadcast[ of {bytes}] on the comm stream: rank "
     "0's values go to all ranks.[ It began **{delay} later**.]"},
    {"op/aten::mul/bucket",
     "**aten::mul** divides the gradient {shape} by {ranks} on its way into its "
     "bucket: the sum over the ranks is then their **mean**.[ {later}]"},
    {"op/copy",
     "**{name}** queues a transfer: {bytes} from {from} to {to}[ ({why})].[ {later}]"},
    {"op/copies",
     "**{name}** queues {copies} copies[, {bytes} in all][; the first began **{delay} "
     "later**]."},

    // Operations of backward.
    {"op/ConvolutionBackward0/both",
     "**ConvolutionBackward0** computes both gradients of aten::conv2d[ in {module}], "
     "for its input and for its filters[: {flops}, **{ratio} times** those of "
     "forward].[ {later}]"},
    {"op/ConvolutionBackward0",
     "**ConvolutionBackward0** computes the gradient of aten::conv2d[ in {module}] for "
     "its filters only; its input needs no gradient[: {flops}].[ {later}]"},
    {"op/AddBackward0/shortcut",
     "**AddBackward0** passes the gradient {shape}, unchanged, to both sides of "
     "{module}'s shortcut.[ {later}]"},
    {"op/AddBackward0",
     "**AddBackward0** passes the gradient[ {shape}], unchanged, to both summands.[ "
     "{later}]"},
    {"op/ReluBackward0",
     "**ReluBackward0** passes the gradient through where forward's output[ in "
     "{module}] was positive, and zeroes the rest.[ {later}]"},
    {"op/ViewBackward0",
     "**ViewBackward0** gives the gradient[ {shape}] the shape of {forward}'s input. "
     "Nothing is computed and nothing moves."},
    {"op/AccumulateGrad",
     "The gradient of **{param}** is complete: AccumulateGrad puts it into .grad, "
     "where optimizer.step() will read it."},
    {"op/AccumulateGrad",
     "AccumulateGrad puts a parameter's gradient[, {shape},] into its **.grad**, where "
     "optimizer.step() will read it."},
    {"op/GatherBackward",
     "**GatherBackward** is gather in reverse: the gradient of the outputs is cut, and "
     "each device gets its rows back[: {bytes} in all].[ {later}]"},
    {"op/BroadcastBackward",
     "**BroadcastBackward** is replicate in reverse: each parameter was copied to "
     "every device, so its gradient is the **sum** of theirs[: {bytes} to {to}].[ "
     "{later}]"},
    {"op/backward",
     "**{name}** computes the gradient of **{forward}**[ in {module}][, from its "
     "output's gradient, {shape}][: {flops}].[ {later}]"},
    {"op",
     "The host calls **{name}**[ in {module}][ on {shape}][: {flops}].[ {later}]"},
};

}  // namespace lockstep::gui
