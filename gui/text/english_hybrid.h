// English templates for hybrids, whose features are data-parallel and whose classifier
// is on one device, where the sentences of DataParallel, of ranks and of pipelines
// would be wrong. `english.h` explains the keys and facts.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishHybrid[] = {
    {"phase/forward/hybrid",
     "The host runs **model(images)**. The features run on several devices, each with "
     "its own chunk; the classifier runs on one more, with the **whole batch**.[ "
     "{ahead}]"},
    {"phase/scatter/hybrid",
     "**scatter** cuts the batch into {chunks} {chunks:chunk|chunks} of {sizes}, for "
     "the devices that have the features: **{bytes}** leave {from}. The classifier's "
     "device gets none."},
    {"phase/replicate/hybrid",
     "{From} copies **its features** to the other devices: the weights once, in the "
     "first forward pass, and a batch norm's running statistics before an evaluation. "
     "The weights of the classifier are not sent."},
    {"phase/gather/hybrid",
     "The **features' outputs** (**{bytes}**) go to {to}, where the classifier and the "
     "loss see the whole batch."},
    {"phase/gather/hybrid",
     "The **features' outputs** go to the device of the classifier."},
    {"phase/backward/hybrid",
     "**loss.backward()**: the classifier's device first; then each chunk's gradient "
     "returns to its device, and all of them run the backward passes of their "
     "features.[ It takes {cost}, {share} of the step.]"},
    {"phase/all_reduce/hybrid",
     "The devices of the features **sum their gradients**, and each gets the whole "
     "sum[: **{bytes}** over all links].[ It takes **{cost}**, {share} of the step.] "
     "The device of the classifier takes no part."},
    {"phase/optimizer/hybrid",
     "Every device of the features makes the **same update** with the same gradients, "
     "so that their weights stay equal and none are sent. The classifier is updated "
     "once, on its own device."},
    {"op/GatherBackward/hybrid",
     "**GatherBackward** is gather in reverse: each device gets the **gradient of its "
     "chunk**.[ {later}]"},
    {"copy/replicate/hybrid",
     "**{bytes} of {tensor}** of the features go from {from} to {to}, which keeps its "
     "replica.[ At {rate}.]"},
    {"copy/activation/hybrid",
     "The **features of {from}'s chunk**[, {shape}] ({bytes}) go to {to}, which has "
     "the classifier.[ At {rate}.]"},
    {"copy/activation_grad/hybrid",
     "The **gradient of the features**[, {shape}] ({bytes}) goes from the classifier's "
     "{from} back to {to}, which can now run the backward pass of its chunk.[ At "
     "{rate}.]"},
    {"copy/all_reduce/hybrid",
     "**{bytes}** of the features' gradients go around the ring, from {from} to {to}[, "
     "at {rate}]. The device of the classifier is not in it."},
    {"collective/all_reduce/hybrid",
     "**all_reduce** of the gradients of the features (**{bytes}**) among the "
     "{group_size} devices that have them[, in {time}]: each gets the **sum**, since "
     "the loss is already the mean over the batch."},
};

}  // namespace lockstep::gui
