// English templates for devices: transfers, collectives, kernels, waiting, marks, and
// events of other programs. `english.h` explains the keys and facts.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishDevices[] = {
    // Transfers.
    {"copy/h2d/labels",
     "The **labels** ({bytes}) go from {from} to {to}: the loss is computed there."},
    {"copy/h2d",
     "**{bytes}**[ of {tensor}] go from {from} to {to}[, at {rate}]: a kernel reads "
     "only the memory of its own device."},
    {"copy/scatter/chunk",
     "**images{rows}** of the batch go from {from} to {to}: {bytes}[ at {rate}]: "
     "**chunk {chunk}** (0 to {last_chunk})."},
    {"copy/scatter",
     "{To} gets its {tensor}[, {shape}]: **{bytes}** from {from}[ at {rate}]."},
    {"copy/replicate/parameters",
     "**{bytes} of parameters** go from {from} to {to}[, at {rate}]: its replica needs "
     "them for forward.[ Group {group} of {groups}: small tensors travel together.]"},
    {"copy/replicate/buffers",
     "**{bytes} of buffers** (such as a batch norm's running statistics) go from "
     "{from} to {to}: its replica needs them, too.[ Group {group} of {groups}.]"},
    {"copy/replicate",
     "**{bytes} of the model** go from {from} to {to}[, at {rate}]: its replica needs "
     "them for forward.[ Group {group} of {groups}.]"},
    {"copy/gather",
     "{From}'s **outputs**[, {shape},] go to {to}: {bytes}. The loss is computed "
     "there, once, over the whole batch."},
    {"copy/grad_scatter",
     "The **gradient of {to}'s outputs**[, {shape},] goes back to it from {from}: "
     "{bytes}. This is gather in reverse; {to} can now run its own backward pass."},
    {"copy/reduce",
     "**{bytes} of gradients** go from {from} to {to}[, at {rate}], to be added to its "
     "own: only {to}'s parameters are updated.[ Group {group} of {groups}.]"},
    {"copy/broadcast/hop",
     "Hop {ring_step} of {ring_steps} around the ring: {from} passes **{bytes}**[ of "
     "{tensor}] on to {to}[, at {rate}]. All ranks start forward with rank 0's "
     "values."},
    {"copy/broadcast",
     "**{bytes}**[ of {tensor}] go from {from} to {to}[, at {rate}], so that all ranks "
     "hold the same values."},
    {"copy/all_reduce/adds",
     "Round {ring_step} of {ring_steps}: {from} sends **chunk {chunk}** (0 to "
     "{last_chunk})[ of bucket {bucket}] ({bytes}) to {to}[ at {rate}], which **adds** "
     "its own. All ranks send at the same time, each a different chunk."},
    {"copy/all_reduce/replaces",
     "Round {ring_step} of {ring_steps}: **chunk {chunk}** (0 to {last_chunk})[ of "
     "bucket {bucket}] is fully summed. {From} forwards it ({bytes}) to {to}[ at "
     "{rate}], where it **replaces** the partial sum."},
    {"copy/metrics/adds",
     "Round {ring_step} of {ring_steps}: {from} sends **chunk {chunk}** (0 to "
     "{last_chunk}) of the losses and correct-prediction counts ({bytes}) to {to}, "
     "which **adds** its own."},
    {"copy/metrics/replaces",
     "Round {ring_step} of {ring_steps}: **chunk {chunk}** (0 to {last_chunk}) of the "
     "losses and correct-prediction counts is fully summed. {From} forwards it "
     "({bytes}) to {to}."},
    {"copy/metrics",
     "**{bytes}**[ of {tensor}] go from {from} to {to}: the losses and "
     "correct-prediction counts, which the ranks sum."},
    {"copy/rebuild",
     "**{bytes}** go from {from} to {to}: the order in which rank 0's gradients became "
     "ready. All ranks rebuild their buckets in this order, once, before the second "
     "step."},
    {"copy/all_reduce/sum",
     "Ring step {ring_step} of {ring_steps}: {from} sends **{bytes}** of gradients to "
     "its neighbour, {to}[, at {rate}], which adds its own. The sum grows along the "
     "way."},
    {"copy/all_reduce/share",
     "Ring step {ring_step} of {ring_steps}: {from} passes **{bytes}** of finished "
     "sums on to its neighbour, {to}[, at {rate}]. At the end all ranks have all "
     "sums."},
    {"copy/all_reduce",
     "A chunk of gradients (**{bytes}**) goes to the ring's next device: from {from} "
     "to {to}[, at {rate}].[ Ring step {ring_step}.]"},
    {"copy/all_reduce",
     "An empty chunk goes around the ring, from {from} to {to}: there were too few "
     "values to split.[ Ring step {ring_step}.]"},
    {"copy/d2h/number",
     "The number that **item()** returns[ ({bytes})] goes from {from} to the host: "
     "only a few bytes, but they arrive after all the work that they depend on."},
    {"copy/d2h",
     "**{bytes}**[ of {tensor}] go from {from} to the host's memory[, at {rate}]."},
    {"copy",
     "**{bytes}**[ of {tensor}] go from {from} to {to}[, at {rate}][ ({why})]."},
    {"copy", "A transfer from {from} to {to}[ ({why})][, of {tensor}]."},
    {"collective/all_reduce/bucket",
     "**all_reduce of bucket {bucket}**[: {params} {params:gradient|gradients}], "
     "**{bytes}**, among {group_size} ranks[, in {time}].[ Each rank sends {sent} and "
     "ends up with the mean.][ Hidden behind backward: {behind_backward}.][ Behind "
     "other kernels: {behind_others}.][ **Exposed**, without any kernel: {exposed}.][ "
     "Of that, waiting for other ranks: {exposed_wait}.]"},
    {"collective/all_reduce/metrics",
     "**all_reduce** of losses and correct-prediction counts[ ({bytes})] among "
     "{group_size} ranks[, in {time}]: the metrics of the whole batch."},
    {"collective/broadcast/rebuild",
     "**broadcast** of the order in which rank 0's gradients became ready[, {bytes}]: "
     "all {group_size} ranks rebuild their buckets in this order, once."},
    {"collective/broadcast",
     "**broadcast** of rank 0's {tensor} (**{bytes}**) to all {group_size} ranks[, in "
     "{time}]: it goes around the ring, from neighbour to neighbour."},
    {"collective/all_reduce",
     "**all_reduce** among {group_size} ranks[ ({algorithm})]: gradients[ of bucket "
     "{bucket}] (**{bytes}**) are summed; each rank gets the sum[, in {time}]."},
    {"collective",
     "**{name}**[ among {group_size} ranks][ ({algorithm})][: **{bytes}**][, in "
     "{time}]."},

    // Kernels.
    {"kernel/null",
     "**{name}**[ of {module}] would run here, on {device}[: {flops}]. The null device "
     "records everything and computes nothing, so its times are meaningless."},
    {"kernel/flatten_many",
     "**flatten_many** on {device} packs many small tensors into one[, in {time}], so "
     "that they are sent or added together."},
    {"kernel/reorder_many",
     "**reorder_many** on {device} copies the weights of the convolutions to the order "
     "in which cuDNN reads them[, in {time}]."},
    {"kernel/add/reduce",
     "**add** on {device}[, {time}]: gradients from another device are added to the "
     "running sum."},
    {"kernel/adam",
     "**adam** on {device} updates all parameters and their two running averages in "
     "place[, in **{time}**][: {moved} read and written][, {rate}]."},
    {"kernel/rmsprop",
     "**rmsprop** on {device} updates all parameters and their running averages in "
     "place[, in **{time}**][: {moved} read and written][, {rate}]."},
    {"kernel/sgd",
     "**sgd** on {device} updates all parameters in place[, in **{time}**][: {moved} "
     "read and written][, {rate}]."},
    {"kernel",
     "**{name}**[ of {module}] ran on {device}[ for **{time}**][ at **{rate}**][ "
     "({impl})].[ Before that it waited {queued} for {processor}.][ It had a core for "
     "only {cpu} of its duration.][ The GPU ran it for only {gpu} of its duration.]"},
    {"kernel", "**{name}** ran[ on {lane}][ for **{time}**]."},

    // Waiting.
    {"sync/item",
     "The host **waits[ {time}]** for the number that item() returns[, until {device} "
     "has it]. Once per step this is harmless; if it happens often, devices go idle."},
    {"sync/device/end",
     "The host **waits[ {time}]** until all queued work[ of {device}] is done. "
     "lockstep ends every step this way to time each one separately; PyTorch would "
     "already queue the next one."},
    {"sync/device",
     "The host **waits[ {time}]** until all queued work[ of {device}] is done. That is "
     "correct before reading a clock; elsewhere it costs time."},
    {"sync/stream",
     "The host **waits[ {time}]** until one stream[ of {device}] has finished its "
     "queued work. It does not wait for other streams."},
    {"sync/join/parallel_apply",
     "The main thread **waits[ {time}]** for the {threads} replica "
     "{threads:thread|threads} to return from forward. They return as soon as "
     "everything is queued; the devices keep computing."},
    {"sync/join/backward",
     "In loss.backward() the main thread **waits[ {time}]** until autograd's threads "
     "have queued the last gradient op. The devices keep computing."},
    {"sync/join",
     "This host thread **waits[ {time}]** for {threads} other "
     "{threads:thread|threads}."},
    {"sync/queue",
     "An autograd thread takes its next op from its queue[, after waiting **{time}**]. "
     "An op is ready when its gradients are queued[; the last of them came from "
     "{cause}]."},
    {"sync/wait for batch",
     "The training loop takes the next batch from the data loader's queue[, after "
     "waiting **{time}**]. A long wait means that the batch was late; a short one, "
     "that the loader's workers are ahead."},
    {"sync", "The host **waits[ {time}]**[ ({name})]."},

    // Marks.
    {"mark/grad_hook",
     "The hook of **{param}** fires: its gradient is queued on the device, not yet "
     "computed. DistributedDataParallel counts these hooks to determine which bucket "
     "is full."},
    {"mark/grad_ready/bucket",
     "The gradient of **{param}** is ready on {device}[: {cause} has written it]. It "
     "is one of {params} in **bucket {bucket}** ({bytes})."},
    {"mark/grad_ready",
     "The gradient of **{param}** is ready on {device}[: {cause} has written it]."},
    {"mark/bucket_ready/whole",
     "**Bucket {bucket}** is full: all {params} of its gradients ({bytes}) are ready. "
     "Rank {rank} queues its all-reduce, and backward continues."},
    {"mark/bucket_ready",
     "**Bucket {bucket}** is full: its last gradient is ready. Its all-reduce can now "
     "begin while backward continues."},
    {"mark/slot", "**A learner's code** replaces the engine's {slot} from here on."},
    {"mark", "A mark[ at {at}]: **{name}**[, on {device}]."},

    // Events of other programs.
    {"other", "**{name}**[ ({category})] ran[ on {lane}][ for {time}]."},
    {"other", "An event without a name[, on {lane}][, lasting {time}]."},
};

}  // namespace lockstep::gui
