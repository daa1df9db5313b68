"""Which samples each rank of a distributed job reads, from DistributedSampler."""

from torch.utils.data import DistributedSampler

from rules import provenance


def ranks(length, world, drop_last, epoch):
    """The indices of each rank for an epoch; without an epoch, they are not
    shuffled."""
    rows = []
    for rank in range(world):
        shuffle = epoch is not None
        sampler = DistributedSampler(
            range(length), world, rank, shuffle=shuffle, drop_last=drop_last
        )
        sampler.set_epoch(epoch or 0)
        rows.append(list(sampler))
    return rows


def row(length, world, drop_last, epoch=None):
    (order,) = ranks(length, 1, False, epoch)
    return [order, world, drop_last, ranks(length, world, drop_last, epoch)]


def all_samplers():
    worlds = [(n, drop_last) for n in (1, 2, 3, 4, 8) for drop_last in (False, True)]
    rows = [row(k, *w) for k in (0, 1, 2, 3, 5, 8, 10, 13) for w in worlds]
    rows += [row(11, *w, epoch) for epoch, w in enumerate(worlds)]
    return {
        **provenance(),
        "columns": ["order", "world size", "drop_last", "indices of each rank"],
        "rows": rows,
    }
