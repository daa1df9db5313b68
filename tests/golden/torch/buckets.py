"""Which gradients DistributedDataParallel reduces together, obtained from PyTorch."""

import math

import torch
import torch.distributed as dist
import torchvision.models as models

from philox import fnv1a64, uniform
from rules import provenance

MIB = 1 << 20
KINDS = [  # the key of a bucket: (dtype, device)
    (torch.float32, "meta"),
    (torch.float64, "meta"),
    (torch.float16, "meta"),
    (torch.float32, "cpu"),
]


def cifar_stem(net):
    net.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    net.maxpool = torch.nn.Identity()
    return net


def vgg16_bn_one_fc():
    features = models.vgg16_bn(init_weights=False).features
    return torch.nn.Sequential(features, torch.nn.Flatten(), torch.nn.Linear(512, 10))


NETS = {
    "resnet18": models.resnet18,
    "resnet18_cifar": lambda: cifar_stem(models.resnet18(num_classes=10)),
    "resnet34": models.resnet34,
    "resnet34_cifar": lambda: cifar_stem(models.resnet34(num_classes=10)),
    "resnet50": models.resnet50,
    "resnet50_cifar": lambda: cifar_stem(models.resnet50(num_classes=10)),
    "vgg16": lambda: models.vgg16(init_weights=False),
    "vgg16_bn_one_fc": vgg16_bn_one_fc,
}
SETTINGS = [(False, 25), (True, 25)]  # find_unused_parameters, bucket_cap_mb
MORE_SETTINGS = {"resnet18": [(False, 35), (False, 0.5), (True, 35)]}


def loss_of(net):
    return net(torch.zeros(2, 3, 32, 32)).sum()


def ready_order(net):
    """Parameter indices in order of gradient accumulation: DDP hooks the same nodes."""
    order, nodes = [], []
    for i, p in enumerate(net.parameters()):
        nodes.append(p.expand_as(p).grad_fn.next_functions[0][0])
        nodes[-1].register_hook(lambda *_, i=i: order.append(i))
    loss_of(net).backward()
    net.zero_grad(set_to_none=True)
    return order


def buckets_of(ddp, net):
    index = {p.data_ptr(): i for i, p in enumerate(net.parameters())}
    buckets = ddp.reducer._get_zeros_like_grad_buckets()
    return [[index[p.data_ptr()] for p in b.parameters()] for b in buckets]


def ddp_rows(name, net):
    """Buckets in launch order, in the first step and from the second forward pass."""
    rows = []
    for unused, cap in SETTINGS + MORE_SETTINGS.get(name, []):
        ddp = torch.nn.parallel.DistributedDataParallel(
            net, bucket_cap_mb=cap, find_unused_parameters=unused
        )
        first = buckets_of(ddp, net)
        loss_of(ddp).backward()
        loss_of(ddp)
        rows.append([unused, int(cap * MIB), first, buckets_of(ddp, net)])
        del ddp
        net.zero_grad(set_to_none=True)
    return rows


def real_nets():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    tables = {}
    for name, factory in NETS.items():
        net = factory()
        tables[name] = {
            "numel": [p.numel() for p in net.parameters()],
            "ready": ready_order(net),
            "ddp": ddp_rows(name, net),
        }
    dist.destroy_process_group()
    return tables


def numbers(case, what, count, below):
    u = uniform(fnv1a64(f"buckets:{case}:{what}"), count)
    return [math.floor(x * below) for x in u]


def random_case(case, largest, limits, kinds, shuffled):
    """Random sizes and kinds, and PyTorch's buckets in registration order or
    `order`."""
    count = 1 + numbers(case, "count", 1, 24)[0]
    keys = numbers(case, "key", count, kinds)
    tensors = []
    for key, n in zip(keys, numbers(case, "numel", count, largest)):
        dtype, device = KINDS[key]
        tensors.append(torch.empty(n, dtype=dtype, device=device))
    ranks = numbers(case, "order", count, 1 << 30)
    order = sorted(range(count), key=ranks.__getitem__) if shuffled else []
    walked = [tensors[i] for i in order] if shuffled else tensors
    buckets, _ = dist._compute_bucket_assignment_by_size(
        walked, limits, [False] * count, order
    )
    return {
        "bytes": [t.numel() * t.element_size() for t in tensors],
        "keys": keys,
        "limits": limits,
        "order": order,
        "buckets": buckets,
    }


def all_buckets():
    assigned, rebuilt = [], []
    for case in range(30):
        limits = [[400], [100, 900], [50, 300, 1000], [0, 500], [1 << 62]][case % 5]
        assigned.append(random_case(case, 120, limits, 1 + case % 4, False))
    for case in range(30, 50):
        limits = [MIB, [25 * MIB, 3 * MIB, MIB // 2][case % 3]]
        rebuilt.append(random_case(case, 2 * MIB, limits, 1 + case % 4, True))
    return {
        **provenance(),
        "first_bucket_bytes": dist._DEFAULT_FIRST_BUCKET_BYTES,
        "ddp_columns": ["find_unused_parameters", "cap", "first step", "afterwards"],
        "nets": real_nets(),
        "assigned": assigned,
        "rebuilt": rebuilt,
    }
