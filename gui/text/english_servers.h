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
     "its host spends {host_time} in it]. Other workers make their steps at their own "
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
    {"phase/pull/waits/ssp",
     "**Worker {rank}** waits[ **{waited}**] for {awaited:worker|workers} "
     "{awaited_list} before it pulls the weights: with ssp, it may be at most "
     "{staleness} {staleness:step|steps} ahead of the slowest worker."},
    {"phase/pull/waits/sync",
     "**Worker {rank}** waits[ **{waited}**] for {awaited:worker|workers} "
     "{awaited_list} before it pulls the weights: with sync, the next version needs "
     "{awaited:its gradient|their gradients}."},
    {"sync/wait for workers/ssp",
     "**Worker {rank}** waits[ **{time}**] for {awaited:worker|workers} "
     "{awaited_list}: with ssp, it may be at most {staleness} {staleness:step|steps} "
     "ahead of the slowest worker."},
    {"sync/wait for workers/sync",
     "**Worker {rank}** waits[ **{time}**] for {awaited:worker|workers} "
     "{awaited_list}: with sync, the next version of the weights needs {awaited:its "
     "gradient|their gradients}."},
    {"sync/wait for workers",
     "**Worker {rank}** waits[ **{time}**] for {awaited:worker|workers} "
     "{awaited_list}."},
    {"op/lockstep::emulated_work",
     "**--slow-rank** makes worker {rank} slower: its device gets a task here that "
     "computes nothing[, for **{run}**]."},
    {"kernel/lockstep::emulated_work",
     "**--slow-rank** makes worker {rank} idle here[ for **{time}**]: the device "
     "computes nothing and uses no core, as if the worker were slower."},
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
