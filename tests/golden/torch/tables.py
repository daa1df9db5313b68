"""torchvision's initialization, torch.chunk's splits, and coalesced tensors."""

import gc
import math

import torch
import torch._utils
import torchvision

from nets import Toy, resnet18_cifar
from philox import fnv1a64, signed, uniform
from rules import Short, flat64, provenance, values

LIMIT = 10 * 1024 * 1024
SEEDS = (1, 2)
MODELS = ("alexnet", "resnet18", "resnet34", "resnet50", "vgg16", "vgg16_bn")


def classify(low, high, mean, std):
    """constant; uniform if no value exceeds std*sqrt(3); otherwise normal."""
    if low == high:
        return "constant"
    return "uniform" if max(-low, high) <= 1.05 * math.sqrt(3) * std else "normal"


def initialisation():
    tables = {}
    for model in MODELS:
        sums, rows = {}, []
        for seed in SEEDS:
            gc.collect()
            torch.manual_seed(seed)
            net = getattr(torchvision.models, model)()
            for name, t in net.state_dict().items():
                a = flat64(t)
                s = sums.setdefault(name, [0, 0.0, 0.0, math.inf, -math.inf])
                s[0] += a.size
                s[1] += float(a.sum())
                s[2] += float((a * a).sum())
                s[3], s[4] = min(s[3], float(a.min())), max(s[4], float(a.max()))
        parameters = dict(net.named_parameters())
        for name, t in net.state_dict().items():
            n, total, squares, low, high = sums[name]
            mean = total / n
            std = math.sqrt(max(0.0, squares / n - mean * mean))
            std = 0.0 if low == high else std
            kind = "parameter" if name in parameters else "buffer"
            law = classify(low, high, mean, std)
            numbers = [Sig6(v) for v in (mean, std, low, high)]
            rows.append([name, list(t.shape), kind, law, *numbers])
        tables[model] = {
            "parameters": sum(p.numel() for p in parameters.values()),
            "parameter_tensors": len(parameters),
            "buffers": sum(b.numel() for b in net.buffers()),
            "columns": [
                *("name", "shape", "kind", "law", "mean", "std", "min", "max"),
            ],
            "state_dict": rows,
        }
    return {**provenance(), "classes": 1000, "seeds": list(SEEDS), "models": tables}


class Sig6(Short):
    digits = 6


def chunk_rows():
    rows = [[b, n] for n in range(1, 10) for b in range(0, 21)]
    rows += [[b, n] for b in (32, 80, 100, 128, 143, 256) for n in (2, 3, 4, 8, 16)]
    rows += [[50000 % 256, 4], [5, 100], [1000, 7], [97, 96]]
    return [[*row, [len(c) for c in torch.zeros(row[0]).chunk(row[1])]] for row in rows]


def size(group):
    return sum(t.numel() * t.element_size() for t in group)


def broadcast_groups(tensors):
    """take_tensors of torch/csrc/utils/tensor_flatten.cpp (fine_grained = false):
    appends, and closes a type's group when its size reaches the limit."""
    groups, done = {}, []
    for t in tensors:
        group = groups.setdefault(t.dtype, [])
        group.append(t)
        if size(group) >= LIMIT:
            done.append(groups.pop(t.dtype))
    return done + list(groups.values())


def reduce_groups(tensors):
    return list(torch._utils._take_tensors(tensors, LIMIT))


def grouping(tensors):
    tensors = list(tensors)
    return {
        "bytes_of_tensors": [size([t]) for t in tensors],
        "broadcast": [size(g) for g in broadcast_groups(tensors)],
        "broadcast_tensors": [len(g) for g in broadcast_groups(tensors)],
        "reduce": [size(g) for g in reduce_groups(tensors)],
        "reduce_tensors": [len(g) for g in reduce_groups(tensors)],
    }


def buffer_groups(net):
    """DataParallel broadcasts buffers in one call per dtype group and does not reduce
    them."""
    groups = broadcast_groups(net.buffers())
    return [[str(g[0].dtype).split(".")[1], len(g), size(g)] for g in groups]


EMULATION_MD = {  # manually derived tables; the results must be equal
    "resnet18": (
        [11129088, 14161920, 19410944, 2056096],
        [8769792, 7084032, 9969664, 9441280, 9441280, 2052000],
    ),
    "resnet18_cifar": (
        [11098368, 14161920, 19410944, 24616],
        [8739072, 7084032, 9969664, 9441280, 9461800],
    ),
    "resnet34": (
        [11427072, 11806720, 14166016, 19410944, 18882560, 11493376, 4000],
        None,
    ),
    "resnet50": (
        [11821312, 12355584, 12093440, 13639680, 12615680, 13639680, 13651968]
        + [12406784, 4000],
        [9724160, 9986048, 9994240, 6569984, 9441280, 4210688, 8404992, 4198400]
        + [9441280, 8409088, 9441280, 4210688, 8196000],
    ),
    "vgg16": (
        [11660544, 18878464, 18878464, 420483072, 67125248, 16400384, 4000],
        [6941952, 4720640, *[9439232] * 5, 411041792, 16384, 67108864, 16384]
        + [16384000, 4000],
    ),
    "vgg16_features": ([11660544, 18878464, 18878464, 9441280], None),
}


def nets():
    models = torchvision.models
    yield "toy", Toy()
    yield "resnet18_cifar", resnet18_cifar()
    for model in ("resnet18", "resnet34", "resnet50"):
        yield model, getattr(models, model)()
    for model in ("vgg16", "vgg16_bn"):
        net = getattr(models, model)(init_weights=False)
        yield model, net
        yield model + "_features", net.features
        yield model + "_10", getattr(models, model)(
            num_classes=10, init_weights=False
        )


def chunks():
    tables, differs = {}, []
    for name, net in nets():
        table = grouping(net.parameters())
        table["buffers"] = buffer_groups(net)
        tables[name] = table
        for key, expected in zip(("broadcast", "reduce"), EMULATION_MD.get(name, ())):
            if expected and table[key] != expected:
                differs.append([name, key, expected, table[key]])
    return {
        **provenance(),
        "chunk_columns": ["batch", "devices", "sizes"],
        "chunk": chunk_rows(),
        "limit": LIMIT,
        "groups": tables,
        "differs_from_emulation_md": differs,
    }


def philox():
    """Values that locate an error in the C++ Philox or filling rules."""
    from philox import KNOWN_ANSWERS

    names = ["", "a", "foobar", "images", "labels", "grad", "conv1.weight"]
    at = [0, 1, 2, 3, 4, 1000003, 4 * 2**32 - 1, 4 * 2**32 + 6]
    rows = [
        [n, i, float(uniform(fnv1a64(n), 4, i // 4 * 4)[i % 4])]
        for n in names[3:]
        for i in at
    ]
    filled = [
        ["conv1.weight", [64, 3, 3, 3]],
        ["bn1.weight", [64]],
        ["bn1.bias", [64]],
        ["bn1.running_mean", [64]],
        ["bn1.running_var", [64]],
        ["fc.weight", [10, 512]],
        ["fc.bias", [10]],
        ["fc.weight", [2, 5]],
    ]
    for row in filled:
        v = values(row[0], row[1]).reshape(-1)
        row.append([float(x) for x in (v[0], v[1], v[-1])])
    return {
        **provenance(),
        "known_answers": [
            {"counter": c, "key": k, "output": o} for c, k, o in KNOWN_ANSWERS
        ],
        "fnv1a64": {n: f"{fnv1a64(n):016x}" for n in names},
        "uniform_columns": ["stream", "index", "value"],
        "uniform": rows,
        "signed_dot_fc_bias": signed("dot:fc.bias", 10).tolist(),
        "filled_columns": ["name", "shape", "values 0, 1 and last"],
        "filled": filled,
    }
