"""What judge.py watches: uses of PyTorch's own solutions, and calls of all_reduce."""

import contextlib
import functools
import importlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler


class Reference(Exception):
    """The learner's code uses what it is to replace."""


ours = False  # whether the judge itself uses the reference


@contextlib.contextmanager
def reference():
    global ours
    ours, before = True, ours
    try:
        yield
    finally:
        ours = before


def guard(owner, name, called):
    """Makes `owner.name` raise Reference unless the judge calls it."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def guarded(*arguments, **named):
        if not ours:
            raise Reference(called)
        return function(*arguments, **named)

    setattr(owner, name, guarded)


def guard_references():
    guard(DistributedDataParallel, "__init__", "DistributedDataParallel")
    for name in ("__init__", "__iter__", "__len__"):
        guard(DistributedSampler, name, "DistributedSampler")
    hooks = "torch.distributed.algorithms.ddp_comm_hooks"
    for part in ("default_hooks", "powerSGD_hook", "quantization_hooks"):
        module = importlib.import_module(f"{hooks}.{part}")
        for name, value in list(vars(module).items()):
            if callable(value) and ("hook" in name or name == "_allreduce_fut"):
                guard(module, name, f"{part}.{name}")


calls, works = [], []  # of all_reduce, in this part
waited_for = []  # numbers of works that the caller had to wait for
all_reduce = dist.all_reduce


def note_calls():
    """Notes the size of each all-reduce, in the order of the calls, and what they
    return."""
    @functools.wraps(all_reduce)
    def noted(tensor, *arguments, **named):
        calls.append(tensor.numel() if isinstance(tensor, torch.Tensor) else -1)
        work = all_reduce(tensor, *arguments, **named)
        if work is not None:
            works.append(work)
        return work

    dist.all_reduce = dist.distributed_c10d.all_reduce = noted


def wait_for_works():
    """A work's future is complete a moment before its event in the profile is."""
    waited_for.append(len(works))
    for work in works:
        work.wait()
    works.clear()
