// English templates for workers and parameter servers (mode `ps`), and for a step of a
// worker at its own pace. `english.h` explains the keys and facts; {version}, {read}
// and {stale} are the version that an update made, the one that its gradients were
// computed for, and the number of other updates between them.
#pragma once

#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr Template kEnglishServers[] = {
    {"step/worker",
     "**Step {step}** of worker {rank} trains on **{batch} {batch:image|images}**[; "
     "its "
     "host spends {host_time} in it]. Other workers make their steps at their own "
     "pace."},
    {"phase/metrics/servers",
     "The workers sum their **losses and correct-prediction counts** so that worker 0 "
     "can print the metrics of the whole batch.[ The host waits **{waited}** for "
     "them.]"},
    {"phase/pull/server",
     "Worker {worker} **pulls** server {server}'s part of the weights: version "
     "**{read}**. Its gradients will be those of this version."},
    {"phase/pull/servers",
     "The worker **pulls the weights** from the servers, which keep and update them."},
    {"phase/push/server",
     "Worker {worker} **pushes its gradients** for server {server}'s part of the "
     "weights. They are those of version {read}."},
    {"phase/optimizer/server",
     "Server {server} **updates its part of the weights** for the push of worker "
     "{worker}: **version {version}**. The gradients were those of version {read}: "
     "{stale} other {stale:update|updates} came in between."},
    {"phase/optimizer/servers",
     "The worker packs its gradients and **pushes** each server its part. The "
     "optimizer runs on the servers."},
    {"copy/pull/server",
     "**Weights**: {bytes} from {from}, a server, to {to}.[ At {rate}.]"},
    {"copy/push/server",
     "**Gradients**: {bytes} from {from} to {to}, a server.[ At {rate}.]"},
    {"copy/push/initial weights",
     "**The initial weights**: {bytes} from {from} to {to}, a server, once.[ At "
     "{rate}.]"},
};

}  // namespace lockstep::gui
