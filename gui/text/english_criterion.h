// English templates for DataParallelModel and DataParallelCriterion (mode
// `dp-criterion`), where the usual sentences would be wrong: the loss is computed on
// each device. `english.h` explains the keys and facts.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishCriterion[] = {
    {"phase/h2d/criterion",
     "Nothing is copied here: **scatter** will send each device its images, and the "
     "criterion its labels."},
    {"phase/forward/criterion",
     "The host runs **model(images)**. DataParallelModel does this in three steps: "
     "scatter the batch, replicate the model, parallel_apply. The outputs stay on "
     "their devices.[ {ahead}]"},
    {"phase/loss/criterion",
     "Each device computes the loss of **its own chunk**. The {chunks} scalars are "
     "added on the first device and divided by {chunks}: the mean of the chunks' "
     "means.[ Then the host waits **{waited}** for its value (item()), because forward "
     "must finish first.]"},
    {"call/__call__/criterion",
     "**model(images)** arrives here: model is a DataParallelModel[ over {chunks} "
     "devices], and its own __call__ runs first.[ The images are {shape}.]"},
    {"call/forward/criterion",
     "**DataParallelModel.forward** splits one model(x) across [{chunks} ]devices: "
     "scatter the batch, replicate the model, parallel_apply the replicas. The outputs "
     "are not gathered.[ {ahead}]"},
    {"call/forward/criterion/replica",
     "This is the **forward** that main.py never calls: model(images) → "
     "DataParallelModel.forward → replica(x) → **{type}.forward**.[ x is {shape}.][ "
     "{ahead}]"},
    {"op/aten::nll_loss/criterion",
     "**aten::nll_loss** picks each image's value at its correct label and averages "
     "over this device's chunk only: the loss will be the **mean of these means**.[ "
     "{later}]"},
    {"op/aten::add_/criterion",
     "The gradients that have arrived, {shape}, are **added** to the running sum. "
     "Nothing is divided here: the sum of the losses was divided by {chunks}.[ "
     "{later}]"},
    {"op/ReduceBackward",
     "**ReduceBackward** is the sum of the losses in reverse: each device gets the "
     "gradient of the sum, one number.[ {later}]"},
    {"phase/forward/inside",
     "The host runs **model(images, targets)**: the wrapped module returns its loss. "
     "DataParallel scatters both, replicates the module, runs the replicas, and "
     "gathers **{chunks} losses**.[ {ahead}]"},
    {"phase/gather/inside",
     "The **losses of {chunks} chunks** become a vector on the first device. The "
     "outputs stay on their devices. Scalars cannot be concatenated: PyTorch warns "
     "that it unsqueezes them."},
    {"phase/loss/inside",
     "**.mean()** of the {chunks} losses: the mean of the chunks' means.[ Then the "
     "host waits **{waited}** for its value (item()), because forward must finish "
     "first.]"},
    {"call/__call__/inside",
     "**model(images, targets)** arrives here: model is a DataParallel[ over {chunks} "
     "devices] around a module that returns its loss.[ The images are {shape}.]"},
    {"call/forward/inside",
     "**DataParallel.forward** splits one call across [{chunks} ]devices: scatter, "
     "replicate, parallel_apply, gather. What it gathers are **losses**, one for each "
     "chunk.[ {ahead}]"},
    {"copy/loss_grad/inside",
     "The **gradient of the mean** with respect to {to}'s loss ({bytes}) goes from "
     "{from} to {to}, which can now run its own backward pass."},
    {"copy/targets",
     "{To} gets the **labels of its chunk**[, {shape}]: {bytes} from {from}. It "
     "computes the loss of its own outputs."},
    {"copy/loss",
     "The **loss of {from}'s chunk** ({bytes}) goes to {to}, to be added to the "
     "others. The outputs themselves stay on {from}."},
    {"copy/loss_grad",
     "The **gradient of the sum of the losses** ({bytes}) goes from {from} to {to}, "
     "which can now run its own backward pass."},
    {"copy/metrics/criterion",
     "{From}'s share of the **accuracy** ({bytes}) goes to {to}, to be added to the "
     "others."},
    {"copy/h2d/criterion",
     "The **labels** ({bytes}) go from {from} to {to}: the criterion scatters them "
     "from there."},
};

}  // namespace lockstep::gui
