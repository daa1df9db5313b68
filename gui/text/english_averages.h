// English templates for ranks that average their weights from time to time (mode
// `local-sgd`), where DistributedDataParallel's sentences would be wrong. `english.h`
// explains the keys and facts.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishAverages[] = {
    {"phase/loss/averages",
     "The loss is computed[ on {device}] over rank {rank}'s **own images** only, with "
     "its own weights.[ Then the host waits **{waited}** for its value (item()), "
     "because forward must finish first.]"},
    {"phase/backward/averages",
     "**loss.backward()** on rank {rank}: the gradients stay there, and nothing is "
     "sent.[ It takes {cost}, {share} of the step.]"},
    {"phase/optimizer/averages",
     "**optimizer.step()** updates rank {rank}'s parameters from its own gradients: a "
     "**local step**, after which the ranks' models differ. In some steps, an average "
     "follows."},
    {"phase/average",
     "The ranks **average their weights**: each divides its own by {ranks}, all_reduce "
     "adds them, and every rank gets the mean. Momentum and running statistics stay as "
     "they are."},
    {"phase/average",
     "The ranks **average their weights**: all_reduce adds them, and every rank gets "
     "the mean. Momentum and running statistics stay as they are."},
    {"collective/all_reduce/average",
     "**all_reduce** of all parameters, divided by {group_size} before[ "
     "(**{bytes}**)][, in {time}]: every rank gets the **mean of the weights**.[ Each "
     "rank sends {sent}.][ Hidden behind backward: {behind_backward}.][ Behind other "
     "kernels: {behind_others}.][ **Exposed**, without any kernel: {exposed}.][ Of "
     "that, waiting for other ranks: {exposed_wait}.]"},
    {"copy/average/adds",
     "Round {ring_step} of {ring_steps}: {from} sends **chunk {chunk}** (0 to "
     "{last_chunk}) of its weights ({bytes}) to {to}[ at {rate}], which **adds** its "
     "own."},
    {"copy/average/replaces",
     "Round {ring_step} of {ring_steps}: **chunk {chunk}** (0 to {last_chunk}) of the "
     "mean weights is complete. {From} forwards it ({bytes}) to {to}[ at {rate}]."},
    {"copy/average",
     "**{bytes}** of weights go from {from} to {to}[, at {rate}]: part of the ranks' "
     "average."},
};

}  // namespace lockstep::gui
