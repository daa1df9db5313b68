// English templates for the passes of a pipeline's stages, and for what they send.
// `english.h` explains the keys and facts.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishPipeline[] = {
    {"phase/forward/action",
     "**Stage {stage}** runs the **forward** pass of micro-batch {micro_batch}. Its "
     "activations are kept until the micro-batch comes back.[ {ahead}]"},
    {"phase/backward/action",
     "**Stage {stage}** runs the **backward** pass of micro-batch {micro_batch}. The "
     "gradients are added to those of the micro-batches before."},
    {"phase/loss/pipeline",
     "The loss of **one micro-batch** is computed[ on {device}]. It counts by its "
     "share of the batch, so that the losses add up to that of the whole batch."},
    {"phase/optimizer/pipeline",
     "**optimizer.step()** updates the parameters of every stage, each on its own "
     "device. No parameter is sent."},
    {"collective/recv/activation",
     "**Stage {stage}** waits for micro-batch {micro_batch}'s activations from stage "
     "{other_stage}: **{waited}** of {time}. Then {bytes} arrive."},
    {"collective/recv/activation",
     "**Stage {stage}** receives micro-batch {micro_batch}'s activations ({bytes}) "
     "from stage {other_stage}[, in {time}]."},
    {"collective/recv/activation_grad",
     "**Stage {stage}** waits for micro-batch {micro_batch}'s gradient from stage "
     "{other_stage}: **{waited}** of {time}. Then {bytes} arrive."},
    {"collective/recv/activation_grad",
     "**Stage {stage}** receives micro-batch {micro_batch}'s gradient ({bytes}) from "
     "stage {other_stage}[, in {time}]."},
    {"collective/send/activation",
     "**Stage {stage}** sends micro-batch {micro_batch}'s activations ({bytes}) to "
     "stage {other_stage}[, in {time}][; for {waited} of that, stage {other_stage} is "
     "not ready to receive]."},
    {"collective/send/activation_grad",
     "**Stage {stage}** sends micro-batch {micro_batch}'s gradient ({bytes}) back to "
     "stage {other_stage}[, in {time}][; for {waited} of that, stage {other_stage} is "
     "not ready to receive]."},
    {"copy/activation",
     "The **activations** of micro-batch {micro_batch}[, {shape}] ({bytes}) go from "
     "{from} to {to}: the input of **stage {stage}**.[ At {rate}.]"},
    {"copy/activation",
     "The **activations** of a micro-batch ({bytes}) go from {from} to {to}, which "
     "runs the next stage."},
    {"copy/activation_grad",
     "The **gradient of the activations** of micro-batch {micro_batch}[, {shape}] "
     "({bytes}) goes back from {from} to {to}: **stage {stage}** can now run its "
     "backward pass.[ At {rate}.]"},
    {"copy/activation_grad",
     "The **gradient of the activations** of a micro-batch ({bytes}) goes back from "
     "{from} to {to}, which runs the stage before."},
};

}  // namespace lockstep::gui
