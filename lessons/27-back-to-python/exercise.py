"""Lesson 27: back to Python. The same four pieces with PyTorch: averaged gradients, a
communication hook, a sampler, and a profile.

Gloo joins the ranks, and each rank runs this file in a process of its own. Everything
in `torch`, `torch.distributed` and `torch.profiler` may be used, except
DistributedDataParallel, DistributedSampler and PyTorch's own hooks: those are what
you write.
"""

import json
import os

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile


def average_gradients(model):
    """Replaces each gradient of `model` by its mean over all ranks, after backward(),
    in place: `parameter.grad` is the same tensor as before.

    One all-reduce for each gradient, in the order of `model.parameters()`. A parameter
    that is frozen has no gradient (`grad` is None), on all ranks.
    """
    # [solution-average]
    for parameter in model.parameters():
        if parameter.grad is None:
            continue
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    return
    # [/solution-average]
    raise NotImplementedError("average_gradients: the mean over all ranks, in place")


def hook(norms: dict, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A communication hook: DistributedDataParallel calls it, in the middle of
    backward, for each bucket that is full. Registered as
    `ddp.register_comm_hook(norms, hook)`.

    `bucket.buffer()` is one flat tensor with this rank's gradients, and
    `bucket.gradients()` are views of it, one for each parameter. Returns a future of
    the same buffer with the means over all ranks in it: one all-reduce, in place, for
    which backward does not wait. When the means are there, writes the norms of the
    averaged gradients to `norms[bucket.index()]`: a list of numbers (float) in the
    order of `bucket.gradients()`. The next step's replaces it.

    `dist.all_reduce(…, async_op=True).get_future()` is a future of a list of one
    tensor; `future.then(f)` is a future of `f(future)`.
    """
    # [solution-hook]
    buffer, views, index = bucket.buffer(), bucket.gradients(), bucket.index()
    buffer /= dist.get_world_size()

    def finish(future):
        norms[index] = [view.norm().item() for view in views]
        return future.value()[0]

    return dist.all_reduce(buffer, async_op=True).get_future().then(finish)
    # [/solution-hook]
    raise NotImplementedError("hook: a future of the buffer with the means in it")


class Shard:
    """One rank's part of `length` samples, shuffled: what DistributedSampler does."""

    def __init__(self, length, rank, world, seed):
        self.length, self.rank, self.world, self.seed = length, rank, world, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        """How many samples each rank reads: the same number on all ranks, so that every
        sample is read."""
        # [solution-length]
        return (self.length + self.world - 1) // self.world
        # [/solution-length]
        raise NotImplementedError("__len__: length / world, rounded up")

    def __iter__(self):
        """Iterates over this rank's samples, as Python's integers.

        The order of all samples is `torch.randperm(length, generator=…)` of a new
        `torch.Generator` with the seed `seed + epoch`; where it ends, it begins again.
        This rank reads those at positions rank, rank + world, rank + 2 world, …
        """
        # [solution-samples]
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.length, generator=generator).tolist()
        positions = range(self.rank, len(self) * self.world, self.world)
        return iter([order[position % self.length] for position in positions])
        # [/solution-samples]
        raise NotImplementedError("__iter__: one order for all ranks, dealt like cards")


def profile_step(step, warm_up, folder):
    """Records one step of training with torch.profiler.

    Calls `step()` `warm_up` times without recording, since the first steps of
    DistributedDataParallel differ from the others, and then once more with. Writes the
    recording of this rank with `write_profile` to `rank-R.json` in `folder`, where R is
    this rank's number. It must have the shapes of all operators: without them nobody
    can tell how many bytes a collective moved.
    """
    # [solution-profile]
    for _ in range(warm_up):
        step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        step()
    write_profile(recorded, os.path.join(folder, f"rank-{dist.get_rank()}.json"))
    return
    # [/solution-profile]
    raise NotImplementedError("profile_step: warm up, then record one step")


def write_profile(recorded, path):
    """Given: writes a profile as Kineto does. `recorded.export_chrome_trace(path)` is
    the usual way, but Debian's PyTorch is built without Kineto, and then leaves out
    shapes and ranks."""
    events = [{"ph": "X", "cat": "cpu_op", "name": event.name, "pid": os.getpid(),
               "tid": event.thread, "ts": event.time_range.start,
               "dur": event.time_range.elapsed_us(),
               "args": {"Input Dims": event.input_shapes}}
              for event in recorded.events()]
    ranks = {"backend": "gloo", "rank": dist.get_rank(),
             "world_size": dist.get_world_size()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "distributedInfo": ranks,
                   "traceEvents": events}, file)
