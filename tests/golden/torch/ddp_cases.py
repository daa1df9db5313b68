"""DistributedDataParallel's features on small nets: no_sync, join, unused parameters,
the scale of the loss; and the buckets of torchvision's resnet18."""

import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torchvision
from torch.nn.parallel import DistributedDataParallel

from ddp import Buckets, gradients, on_ranks, only_rank_0_knows, optimizer_of, same
from nets import SGD, Toy, digests, state_noise
from rules import fill, images, labels, provenance

LR = 0.01


def small_net():
    """make_small_net of tests/engine/parallel/nets.h, for images of 2x8x8."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 3, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(3, 3),
    )


class TwoLinears(torch.nn.Module):
    """first(x), plus second(x) if the caller requests it."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(5, 2)
        self.second = torch.nn.Linear(5, 2)

    def forward(self, x, use_second):
        return self.first(x) + self.second(x) if use_second else self.first(x)


NETS = {  # factory, image shape, classes
    "toy": (Toy, (5,), 2),
    "small": (small_net, (2, 8, 8), 3),
    "two_linears": (TwoLinears, (5,), 2),
}


def prepare(name, batch):
    """The net in double with its golden weights, and the whole golden batch."""
    make, shape, classes = NETS[name]
    net = make().double()
    fill(net, torch.float64)
    return net, images((batch, *shape), torch.float64), labels(batch, classes)


def on_rank(rank, world, name, batch, **options):
    """The net, its DDP, and the rank's rows."""
    net, x, y = prepare(name, batch)
    only_rank_0_knows(net, rank)
    ddp = DistributedDataParallel(net, **options)
    return net, ddp, x[rank::world], y[rank::world]


def values(tensors):
    return {n: None if t is None else t.reshape(-1).tolist() for n, t in tensors}


def gradient_values(net):
    return values(gradients(net).items())


def about(ranks, **more):
    return {**provenance(), "dtype": "float64", "ranks": ranks, **more}


# no_sync: k micro-batches, of which only the last one is synchronized.


def rank_accumulates(rank, world, name, batch, count, rounds):
    net, ddp, x, y = on_rank(rank, world, name, batch)
    watch, found = Buckets(ddp), []
    for _ in range(rounds):
        ddp.zero_grad(set_to_none=True)
        losses, after, buckets, rebuilt = [], [], [], []
        for i, (part, target) in enumerate(zip(x.chunk(count), y.chunk(count))):
            with ddp.no_sync() if i + 1 < count else contextlib.nullcontext():
                loss = F.cross_entropy(ddp(part), target) / count
                loss.backward()
            losses.append(loss.item())
            after.append(digests(gradients(net)))
            buckets.append(watch.of_step())
            rebuilt.append(ddp._has_rebuilt_buckets)
        found.append({"losses": losses, "after": after})
        found[-1].update({"buckets": buckets, "rebuilt": rebuilt})
    return found


def no_sync():
    world, batch, count, rounds = 2, 36, 3, 2
    nets = {}
    for name in ("toy", "small"):
        ranks = on_ranks(world, rank_accumulates, name, batch, count, rounds)
        first = [r[0] for r in ranks]
        assert all(r[1]["losses"] == r[0]["losses"] for r in ranks)
        assert all(r[1]["after"] == r[0]["after"] for r in ranks)
        net, x, y = prepare(name, batch)
        F.cross_entropy(net(x), y).backward()
        shared = same([r["after"][-1] for r in first])
        nets[name] = {
            "image": list(NETS[name][1]),
            "classes": NETS[name][2],
            "parameter_names": list(shared),
            "losses": [r["losses"] for r in first],
            "local_gradients": [r["after"][:-1] for r in first],
            "gradients": shared,
            "buckets": same([[a["buckets"] for a in r] for r in ranks]),
            "rebuilt": same([[a["rebuilt"] for a in r] for r in ranks]),
            "single": {"gradients": state_noise(digests(gradients(net)), shared)},
        }
    return about(world, batch=batch, micro_batches=count, nets=nets)


# join: rank 0 has 5 batches, rank 1 has 7.


def rank_joins(rank, world, batches, rows, divide_by_initial):
    net, ddp, x, y = on_rank(rank, world, "toy", max(batches) * rows * world)
    optimizer, steps = optimizer_of(net, LR), []
    with ddp.join(divide_by_initial_world_size=divide_by_initial):
        for i in range(batches[rank]):
            part = slice(i * rows, (i + 1) * rows)
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(ddp(x[part]), y[part])
            loss.backward()
            optimizer.step()
            step = {"loss": loss.item(), "gradients": gradient_values(net)}
            steps.append({**step, "parameters": values(net.named_parameters())})
    return {"steps": steps, "final": values(net.named_parameters())}


def join():
    batches, rows, modes = [5, 7], 4, []
    for divide_by_initial in (True, False):
        ranks = on_ranks(2, rank_joins, batches, rows, divide_by_initial)
        mode = {"divide_by_initial_world_size": divide_by_initial}
        mode["steps"] = [r["steps"] for r in ranks]
        modes.append({**mode, "final": same([r["final"] for r in ranks])})
    return about(2, batches=batches, rows=rows, sgd={**SGD, "lr": LR}, modes=modes)


# Unused parameters. Whether `second` is used: a row per step, a column per rank.

USES_SECOND = [[True, True], [True, False], [False, False], [True, True]]


def rank_skips(rank, world, batch, clears, watched):
    net, ddp, x, y = on_rank(
        rank, world, "two_linears", batch, find_unused_parameters=True
    )
    watch = Buckets(ddp) if watched else None
    steps, buckets = [], []
    for uses in USES_SECOND:
        if clears:
            ddp.zero_grad(set_to_none=True)
        loss = F.cross_entropy(ddp(x, uses[rank]), y)
        loss.backward()
        steps.append({"loss": loss.item(), "gradients": gradient_values(net)})
        if watch:
            buckets.append(watch.of_step())
    return {"steps": steps, "buckets": buckets}


def rank_errs(rank, world, batch, level):
    """`second` is unused and unused parameters are not searched: the next forward
    fails."""
    dist.set_debug_level(level)
    net, ddp, x, y = on_rank(rank, world, "two_linears", batch)
    F.cross_entropy(ddp(x, False), y).backward()
    after = gradient_values(net)
    try:
        ddp(x, True)
    except RuntimeError as error:
        return {"gradients": after, "message": str(error)}


def unused():
    world, batch, runs = 2, 12, {}
    for key, clears in (("cleared", True), ("kept", False)):
        plain = on_ranks(world, rank_skips, batch, clears, False)
        watched = on_ranks(world, rank_skips, batch, clears, True)
        assert [r["steps"] for r in watched] == [r["steps"] for r in plain]
        runs[key] = {"steps": [r["steps"] for r in plain]}
        runs[key]["buckets"] = same([r["buckets"] for r in watched])
    errors = [
        on_ranks(world, rank_errs, batch, level)
        for level in (dist.DebugLevel.OFF, dist.DebugLevel.INFO)
    ]
    return about(
        world,
        batch=batch,
        parameter_names=list(plain[0]["steps"][0]["gradients"]),
        uses_second=USES_SECOND,
        **runs,
        error={
            "gradients": [r["gradients"] for r in errors[0]],
            "message": [r["message"] for r in errors[0]],
            "message_info": [r["message"] for r in errors[1]],
        },
    )


# The scale of the loss: DDP averages over the ranks, whatever the reduction.


def rank_scales(rank, world, batch, reduction):
    net, ddp, x, y = on_rank(rank, world, "toy", batch)
    loss = F.cross_entropy(ddp(x), y, reduction=reduction)
    loss.backward()
    return {"loss": loss.item(), "gradients": gradient_values(net)}


def loss_scale():
    world, batch, losses = 2, 12, {}
    for reduction in ("mean", "sum"):
        ranks = on_ranks(world, rank_scales, batch, reduction)
        net, x, y = prepare("toy", batch)
        loss = F.cross_entropy(net(x), y, reduction=reduction)
        loss.backward()
        losses[reduction] = {
            "losses": [r["loss"] for r in ranks],
            "gradients": same([r["gradients"] for r in ranks]),
            "single_device": {"loss": loss.item(), "gradients": gradient_values(net)},
        }
    return about(world, batch=batch, **losses)


# The buckets of DDP in the ImageNet example, in float32.

SETTINGS = {
    "default": {},
    "bucket_cap_mb=35": {"bucket_cap_mb": 35},
    "find_unused_parameters": {"find_unused_parameters": True},
}


def rank_packs(rank, world, options):
    net = torchvision.models.resnet18()
    ddp = DistributedDataParallel(net, **options)
    watch, steps = Buckets(ddp), []
    names = [n for n, _ in net.named_parameters()]
    x, y = images((2 * world, 3, 32, 32), torch.float32), labels(2 * world, 1000)
    for _ in range(3):
        F.cross_entropy(ddp(x[rank::world]), y[rank::world]).backward()
        step = watch.of_step()
        step["tensors"] = [len(p) for p in step["parameters"]]
        step["first"] = [names[p[0]] for p in step.pop("parameters")]
        steps.append(step)
    return steps


def buckets_live():
    found = {k: same(on_ranks(2, rank_packs, o)) for k, o in SETTINGS.items()}
    return {**about(2, net="torchvision resnet18"), "dtype": "float32", **found}


JOBS = (no_sync, join, unused, loss_scale, buckets_live)  # each writes ddp_<name>.json
