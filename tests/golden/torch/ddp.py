"""DistributedDataParallel on gloo, one process per rank: three steps of whole nets.

Rank r of N takes rows r, r+N, r+2N, ... of the golden batch, like DistributedSampler
without shuffling. Single features are in ddp_cases.py."""

import hashlib
import os
import pathlib
import pickle
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing
import torch.nn.functional as F
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from nets import SGD, Run, digests, header, state_noise
from rules import Short

WHOLE_NETS = [  # net, global batch, ranks
    *[("toy", 12, 2), ("toy", 12, 3), ("vgg16", 4, 2)],
    *[("resnet18_cifar", 6, 2), ("resnet18_cifar", 6, 3)],
]
STEPS = 3
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # inherited by the ranks


def on_ranks(world, work, *arguments):
    """Returns the results of `work(rank, world, *arguments)` on each rank of a gloo
    group."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(be_rank, (world, folder, work, arguments), world)
        files = (pathlib.Path(folder, f"result{rank}") for rank in range(world))
        return [pickle.loads(file.read_bytes()) for file in files]


def be_rank(rank, world, folder, work, arguments):
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", store, rank=rank, world_size=world)
    result = work(rank, world, *arguments)
    pathlib.Path(folder, f"result{rank}").write_bytes(pickle.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


def same(results):
    """Returns the result of all ranks, which must be bit-identical."""
    assert all(r == results[0] for r in results)
    return results[0]


class Buckets:
    """Records every bucket in launch order, through a comm hook."""

    def __init__(self, ddp):
        self.at = {p.data_ptr(): i for i, p in enumerate(ddp.module.parameters())}
        self.bytes, self.parameters = [], []
        ddp.register_comm_hook(None, self.hook)

    def hook(self, group, bucket):
        assert bucket.index() == len(self.bytes)
        self.bytes.append(bucket.buffer().numel() * bucket.buffer().element_size())
        self.parameters.append([self.at[p.data_ptr()] for p in bucket.parameters()])
        assert bucket.is_last() == (sum(map(len, self.parameters)) == len(self.at))
        return allreduce_hook(group, bucket)

    def of_step(self):
        """Bytes and parameter indices of each bucket since the last call."""
        found = {"bytes": self.bytes, "parameters": self.parameters}
        self.bytes, self.parameters = [], []
        return found


def only_rank_0_knows(net, rank):
    """Zeroes the other ranks' values: DDP's constructor broadcasts all values."""
    if rank > 0:
        for tensor in net.state_dict().values():
            tensor.zero_()


def gradients(net):
    return {n: p.grad for n, p in net.named_parameters()}


def optimizer_of(net, lr):
    momentum, decay = SGD["momentum"], SGD["weight_decay"]
    return torch.optim.SGD(net.parameters(), lr, momentum, weight_decay=decay)


def exact(tensors):
    """A hash of all bits."""
    found = hashlib.blake2b()
    for tensor in tensors.values():
        found.update(tensor.detach().contiguous().numpy())
    return found.hexdigest()


def train(net, model, x, y, lr, buckets=None, describe=digests):
    """Three steps of SGD on the same rows; `model` is the net or its DDP. `describe`
    converts the returned first gradients and last parameters."""
    optimizer = optimizer_of(net, lr)
    losses, first, seen = [], None, []
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        losses.append(loss.item())
        first = first or (exact(gradients(net)), describe(gradients(net)))
        if buckets:
            seen.append(buckets.of_step())
        optimizer.step()
    last = dict(net.named_parameters())
    return {
        "losses": losses,
        "gradients": first[1],
        "parameters": describe(last),
        "exact": [first[0], exact(last)],
        "buckets": seen,
    }


def rank_trains(rank, world, name, batch, nudge_and_watch):
    run = Run(name, batch, torch.float64, nudge_and_watch)
    only_rank_0_knows(run.net, rank)
    ddp = DistributedDataParallel(run.net)
    watch = Buckets(ddp) if nudge_and_watch else None
    x, y = run.x[rank::world], run.y[rank::world]
    describe = exact if rank > 0 else digests  # only rank 0 returns digests
    return {
        **train(run.net, ddp, x, y, run.lr, watch, describe),
        "buffers": digests(run.buffers()),
        "batches": [int(b) for b in run.net.buffers() if b.dim() == 0],
    }


def distance(mine, golden):
    """The largest differences; `losses` are means over the ranks."""
    pairs = zip(mine["losses"], golden["losses"])
    first = golden["losses"][0]
    return {
        "losses": Short(max(abs(a - b) / max(abs(b), first) for a, b in pairs)),
        "gradients": state_noise(mine["gradients"], golden["gradients"]),
        "parameters": state_noise(mine["parameters"], golden["parameters"]),
    }


def joined(ranks):
    """Rank 0's table; the other ranks may differ only in their losses."""
    same([r["exact"] for r in ranks])
    same([r["buckets"] for r in ranks])
    losses = zip(*(r["losses"] for r in ranks))
    return {**ranks[0], "losses": [sum(step) / len(ranks) for step in losses]}


def whole_net(name, batch, world):
    """The values come from a DDP without a hook. Buckets do not depend on values and
    are recorded in a second run with nudged weights, which also measures the noise."""
    plain = on_ranks(world, rank_trains, name, batch, False)
    nudged = on_ranks(world, rank_trains, name, batch, True)
    golden = joined(plain)
    assert all(set(r["batches"]) <= {STEPS} for r in plain)
    run = Run(name, batch, torch.float64)
    out = {
        **header(name, batch),
        "ranks": world,
        "sgd": {**SGD, "lr": run.lr},
        "parameter_names": [n for n, _ in run.net.named_parameters()],
        "losses": [r["losses"] for r in plain],
        "gradients": golden["gradients"],
        "parameters": golden["parameters"],
        "buffers": [r["buffers"] for r in plain],
        "buckets": joined(nudged)["buckets"],
    }
    if not run.buffers():  # without BatchNorm, DDP equals the single device
        single = train(run.net, run.net, run.x, run.y, run.lr)
        out["single"] = distance(single, golden)
    out["float64_nudged"] = distance(joined(nudged), golden)
    return out
