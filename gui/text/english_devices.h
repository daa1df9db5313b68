// English templates for devices: transfers, collectives, kernels, waiting, marks, and
// events of other programs. `english.h` explains the keys and facts.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishDevices[] = {
    // Transfers.
    {"copy/h2d/labels",
     "The **labels**, {bytes}, go from {from} to {to}: the loss is computed there."},
    {"copy/h2d",
     "**{bytes}**[ of {tensor}] go from {from} to {to}[, at {rate}]: a kernel reads "
     "only the memory of its own device."},
    {"copy/scatter/chunk",
     "**images{rows}** of the batch go from {from} to {to}: {bytes}[ at {rate}]. This "
     "is chunk {chunk} of {chunks}, counted from 0."},
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
     "{bytes}. This is gather in reverse; now {to} can run its own backward."},
    {"copy/reduce",
     "**{bytes} of gradients** go from {from} to {to}[, at {rate}], to be added to its "
     "own: only {to}'s parameters are updated.[ Group {group} of {groups}.]"},
    {"copy/broadcast/hop",
     "Hop {ring_step} of {ring_steps} around the ring: {from} passes **{bytes}**[ of "
     "{tensor}] on to {to}[, at {rate}]. All ranks start forward with rank 0's."},
    {"copy/broadcast",
     "**{bytes}**[ of {tensor}] go from {from} to {to}[, at {rate}], so that all ranks "
     "hold the same values."},
    {"copy/all_reduce/adds",
     "Round {ring_step} of {ring_steps}: {from} sends **chunk {chunk} of {ranks}**[ of "
     "bucket {bucket}], {bytes}, to {to}[ at {rate}], which **adds** its own. All "
     "ranks send at once, each a different chunk."},
    {"copy/all_reduce/replaces",
     "Round {ring_step} of {ring_steps}: **chunk {chunk} of {ranks}**[ of bucket "
     "{bucket}] is summed. {From} passes it on, {bytes}, to {to}[ at {rate}], where it "
     "**replaces** the unfinished sum."},
    {"copy/metrics/adds",
     "Round {ring_step} of {ring_steps}: {from} sends **chunk {chunk} of {ranks}** of "
     "the losses and hits, {bytes}, to {to}, which **adds** its own."},
    {"copy/metrics/replaces",
     "Round {ring_step} of {ring_steps}: **chunk {chunk} of {ranks}** of the losses "
     "and hits is summed. {From} passes it on, {bytes}, to {to}."},
    {"copy/metrics",
     "**{bytes}**[ of {tensor}] go from {from} to {to}: losses and hits, which the "
     "ranks sum among themselves."},
    {"copy/rebuild",
     "**{bytes}** go from {from} to {to}: the order in which rank 0's gradients were "
     "ready. All ranks cut their buckets by it, once, before the second step."},
    {"copy/all_reduce/sum",
     "Ring step {ring_step} of {ring_steps}: {from} sends **{bytes}** of gradients to "
     "its neighbour, {to}[, at {rate}], which adds its own. The sum grows on the way."},
    {"copy/all_reduce/share",
     "Ring step {ring_step} of {ring_steps}: {from} passes **{bytes}** of finished "
     "sums on to its neighbour, {to}[, at {rate}]. At the end all ranks have all "
     "sums."},
    {"copy/all_reduce",
     "A chunk of gradients, **{bytes}**, goes to the ring's next device: from {from} "
     "to {to}[, at {rate}].[ Ring step {ring_step}.]"},
    {"copy/all_reduce",
     "An empty chunk goes around the ring, from {from} to {to}: there were too few "
     "values to split.[ Ring step {ring_step}.]"},
    {"copy/d2h/number",
     "The number that **item()** returns[, {bytes},] goes from {from} to the host: few "
     "bytes, but they arrive only after all work that the number depends on."},
    {"copy/d2h",
     "**{bytes}**[ of {tensor}] go from {from} to the host's memory[, at {rate}]."},
    {"copy",
     "**{bytes}**[ of {tensor}] go from {from} to {to}[, at {rate}][ ({why})]."},
    {"copy", "A transfer from {from} to {to}[ ({why})][, of {tensor}]."},
    {"collective/all_reduce/bucket",
     "**all_reduce of bucket {bucket}**[: {params} {params:gradient|gradients}], "
     "**{bytes}**, among {group_size} ranks[, in {time}].[ Each rank sends {sent} and "
     "ends with the mean.][ While {overlap} of it ran, {device} computed.]"},
    {"collective/all_reduce/metrics",
     "**all_reduce** of losses and hits[, {bytes},] among {group_size} ranks[, in "
     "{time}]: the numbers of the whole batch."},
    {"collective/broadcast/rebuild",
     "**broadcast** of the order in which rank 0's gradients were ready[, {bytes}]: "
     "all {group_size} ranks cut their buckets by it, once."},
    {"collective/broadcast",
     "**broadcast** of rank 0's {tensor}, **{bytes}**, to all {group_size} ranks[, in "
     "{time}]: it goes around the ring, from neighbour to neighbour."},
    {"collective/all_reduce",
     "**all_reduce** among {group_size} ranks[ ({algorithm})]: gradients[ of bucket "
     "{bucket}], **{bytes}**, are summed; each rank gets the sum[, in {time}]."},
    {"collective",
     "**{name}**[ among {group_size} ranks][ ({algorithm})][: **{bytes}**][, in "
     "{time}]."},

    // Kernels.
    {"kernel/null",
     "**{name}**[ of {module}] would run here, on {device}[: {flops}]. The null device "
     "records everything and computes nothing, so its times are meaningless."},
    {"kernel/flatten_many",
     "**flatten_many** on {device} lays many small tensors side by side[, in {time}], "
     "to send or add them as one."},
    {"kernel/add/reduce",
     "**add** on {device}[, {time}]: gradients that came from another device are added "
     "to the sum so far."},
    {"kernel/sgd",
     "**sgd** on {device} updates all parameters in place[, in **{time}**][: {moved} "
     "read and written][, {rate}]."},
    {"kernel",
     "**{name}**[ of {module}] ran on {device}[ for **{time}**][ at **{rate}**][ "
     "({impl})].[ Before that it waited {queued} for a core.][ It had a core for only "
     "{cpu} of its time.]"},
    {"kernel", "**{name}** ran[ on {lane}][ for **{time}**]."},

    // Waiting.
    {"sync/item",
     "The host **waits[ {time}]** for the number that item() returns[, until {device} "
     "has it]. Once per step this is harmless; if done often, devices run dry."},
    {"sync/device/end",
     "The host **waits[ {time}]** until all queued work[ of {device}] is done. "
     "lockstep ends every step this way, to time each alone; PyTorch would already "
     "queue the next."},
    {"sync/device",
     "The host **waits[ {time}]** until all queued work[ of {device}] is done. That is "
     "correct before reading a clock; elsewhere it costs time."},
    {"sync/stream",
     "The host **waits[ {time}]** until one stream[ of {device}] has done what was "
     "queued on it. Other streams are not waited for."},
    {"sync/join/parallel_apply",
     "The main thread **waits[ {time}]** for the {threads} replica "
     "{threads:thread|threads} to return from forward. They return when all is queued; "
     "the devices go on computing."},
    {"sync/join/backward",
     "In loss.backward() the main thread **waits[ {time}]** until autograd's threads "
     "have queued the last gradient op. The devices go on computing."},
    {"sync/join",
     "This host thread **waits[ {time}]** for {threads} other "
     "{threads:thread|threads}."},
    {"sync/queue",
     "An autograd thread takes its next op from its queue[, after **{time}**]. An op "
     "is ready when its gradients are queued[; the last of them came from {cause}]."},
    {"sync/wait for batch",
     "The training loop takes the next batch from the data loader's queue[, after "
     "**{time}**]. If that is long, the batch was late; if it is short, the loader's "
     "workers run ahead."},
    {"sync", "The host **waits[ {time}]**[ ({name})]."},

    // Marks.
    {"mark/grad_hook",
     "The hook of **{param}** fires: its gradient is queued on the device, not yet "
     "computed. DistributedDataParallel counts these hooks to know which bucket is "
     "full."},
    {"mark/grad_ready/bucket",
     "The gradient of **{param}** is ready on {device}[: {cause} has written it]. It "
     "is one of {params} in **bucket {bucket}**, {bytes}."},
    {"mark/grad_ready",
     "The gradient of **{param}** is ready on {device}[: {cause} has written it]."},
    {"mark/bucket_ready/whole",
     "**Bucket {bucket}** is full: all {params} of its gradients are ready, {bytes}. "
     "Rank {rank} queues its all-reduce, and backward goes on."},
    {"mark/bucket_ready",
     "**Bucket {bucket}** is full: its last gradient is ready. Now its all-reduce may "
     "begin, while backward goes on."},
    {"mark/slot", "**A learner's code** replaces the engine's {slot} from here on."},
    {"mark", "A mark[ at {at}]: **{name}**[, on {device}]."},

    // Events of other programs.
    {"other", "**{name}**[ ({category})] ran[ on {lane}][ for {time}]."},
    {"other", "An event without a name[, on {lane}][, lasting {time}]."},
};

}  // namespace lockstep::gui
