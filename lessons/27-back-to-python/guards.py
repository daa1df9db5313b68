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
before_wait = []  # functions that are called before the caller waits for an all-reduce
all_reduce = dist.all_reduce


class Work:
    """An asynchronous all-reduce that notes whether its caller asks for its end."""

    def __init__(self, work):
        self.work, self.asked, self.future = work, False, work.get_future()

    def wait(self, *arguments):
        self.asked = True
        for function in before_wait:
            function()
        return self.work.wait(*arguments)

    def get_future(self):
        self.asked = True
        return self.future

    def is_completed(self):
        completed = self.work.is_completed()
        self.asked |= completed
        return completed

    def __getattr__(self, name):
        return getattr(self.work, name)


def unfinished():
    """How many all-reduces nobody has waited for: their end was not asked for, or has
    not come."""
    return sum(not work.asked or not work.future.done() for work in works)


def unfinished_after(function, at_wait):
    """Calls `function`, and `at_wait` whenever it is about to wait for an all-reduce,
    and when it has returned. Returns how many all-reduces it has left unfinished."""
    before_wait[:] = [at_wait]
    function()
    before_wait.clear()
    left = unfinished()
    at_wait()
    return left


def note_calls():
    """Notes the size of each all-reduce, in the order of the calls, and what they
    return."""
    @functools.wraps(all_reduce)
    def noted(tensor, *arguments, **named):
        calls.append(tensor.numel() if isinstance(tensor, torch.Tensor) else -1)
        if not named.get("async_op", len(arguments) > 2 and arguments[2]):
            for function in before_wait:
                function()
        work = all_reduce(tensor, *arguments, **named)
        if work is None:
            return None
        works.append(Work(work))
        return works[-1]

    dist.all_reduce = dist.distributed_c10d.all_reduce = noted


def wait_for_works():
    """A work's future is complete a moment before its event in the profile is."""
    for work in works:
        work.work.wait()
    works.clear()
