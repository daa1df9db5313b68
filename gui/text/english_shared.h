// English templates for workers that train one model in host memory (modes `hogwild`
// and `locked`). `english.h` explains the keys and facts; {version}, {read} and {stale}
// are the version that an update made, the one that its gradients were computed for,
// and the number of other updates between them.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishShared[] = {
    {"phase/pull/locked",
     "The worker waits[ **{lock_wait}**] for **the lock** on the shared model, then "
     "reads the weights for its own copy. It holds the lock until its step ends, so "
     "nobody else updates them meanwhile."},
    {"phase/pull",
     "Worker {rank} **reads the shared weights** from the host's memory: {each} for "
     "its own copy, on its device. Its gradients will be those of these weights, "
     "whatever other workers do meanwhile."},
    {"phase/pull", "The worker **reads the shared weights** from the host's memory."},
    {"phase/optimizer/shared",
     "Worker {rank}'s optimizer makes its step on its own copy; the step is then "
     "applied to the shared weights: **version {version}**. Its gradients were those "
     "of version {read}: {stale} other {stale:update|updates} came in between.[ It "
     "overwrote others' updates of **{lost}** {lost:element|elements}.]"},
    {"phase/optimizer/shared",
     "The worker's optimizer makes its step on its own copy; the step is then applied "
     "to the shared weights: **version {version}**, from gradients of version {read}."},
    {"op/lockstep::read_shared",
     "**The shared weights are read**, element by element[, in {time}]. Without the "
     "lock, others may be updating them at the same time: some elements are then older "
     "than others."},
    {"op/lockstep::update_shared",
     "**The worker's step is applied** to the shared weights, element by element[, in "
     "{time}]. An element that has not changed since the worker read it gets the "
     "worker's value; to any other, the difference is added."},
    {"copy/pull",
     "**Shared weights**[, {tensor}]: {bytes} from {from} to the worker's copy on "
     "{to}."},
    {"copy/push",
     "**The worker's new weights**[, {tensor}]: {bytes} from {from} to {to}, where the "
     "step is applied to the shared ones."},
    {"sync/wait for lock",
     "The worker **waits[ {time}]** for the lock on the shared model: another worker "
     "holds it. Waiters get it in the order in which they asked."},
};

}  // namespace lockstep::gui
