"""Single operations: inputs from named streams, outputs, all input gradients."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from philox import fnv1a64, signed, uniform
from rules import digest, provenance

FULL = 400  # tensors with fewer values are stored whole


def tensor(case, name, shape, rule, size):
    """rule: signed = size*(2u-1); var = 1 + size*u; weight = 1 + size*(2u-1);
    grid = floor(size*u) - size//2 (ties, exact zeros); class = floor(size*u)."""
    stream, count = f"{case}:{name}", math.prod(shape)
    u = uniform(fnv1a64(stream), count)
    data = {
        "signed": lambda: (2 * u - 1) * size,
        "var": lambda: 1 + size * u,
        "weight": lambda: 1 + size * (2 * u - 1),
        "grid": lambda: np.floor(u * size) - size // 2,
        "class": lambda: np.floor(u * size).astype(np.int64),
    }[rule]()
    made = torch.from_numpy(data.reshape(shape))
    spec = {"stream": stream, "shape": list(shape), "rule": rule, "size": size}
    return made, spec


def stored(stream, t):
    if t.numel() < FULL:
        return {"shape": list(t.shape), "full": t.detach().reshape(-1).tolist()}
    return {"shape": list(t.shape), "digest": digest(stream, t)}


def case(name, op, function, args, differentiate, **inputs):
    """Runs function(**inputs); the upstream gradient is 2u-1 of the stream "grad"."""
    made = {k: tensor(name, k, *v) for k, v in inputs.items()}
    tensors = {k: t for k, (t, _) in made.items()}
    for k in differentiate:
        tensors[k].requires_grad_(True)
    out = function(**tensors)
    upstream = signed("grad", out.numel()).reshape(tuple(out.shape))
    out.backward(torch.from_numpy(np.asarray(upstream)))
    result = {"op": op, "args": args, "inputs": {k: s for k, (_, s) in made.items()}}
    result["output"] = stored(f"{name}:output", out)
    result["gradients"] = {
        k: stored(f"{name}:d{k}", tensors[k].grad) for k in differentiate
    }
    updated = [k for k in ("running_mean", "running_var") if k in tensors]
    if updated and args.get("training"):
        result["updated"] = {k: stored(f"{name}:{k}", tensors[k]) for k in updated}
    return result


CONVOLUTIONS = [  # name, input, out channels, kernel, stride, padding, bias
    ("3x3_s1_p1", (2, 2, 5, 6), 3, 3, 1, 1, False),
    ("3x3_s1_p1_bias", (1, 3, 7, 9), 2, 3, 1, 1, True),
    ("3x3_s1_p1_on_1x1", (2, 3, 1, 1), 4, 3, 1, 1, True),
    ("3x3_s1_p1_on_2x2", (2, 3, 2, 2), 4, 3, 1, 1, True),
    ("3x3_s1_p1_c16", (2, 16, 8, 8), 32, 3, 1, 1, False),
    ("3x3_s1_p1_c16_odd", (2, 16, 7, 9), 16, 3, 1, 1, True),
    ("3x3_s1_p1_c64", (2, 64, 4, 4), 64, 3, 1, 1, False),
    ("3x3_s2_p1", (2, 2, 7, 9), 3, 3, 2, 1, False),
    ("3x3_s2_p1_bias", (2, 2, 8, 6), 3, 3, 2, 1, True),
    ("1x1_s1_bias", (2, 4, 3, 5), 3, 1, 1, 0, True),
    ("1x1_s2", (2, 3, 7, 9), 4, 1, 2, 0, False),
    ("1x1_s2_bias", (2, 3, 6, 4), 4, 1, 2, 0, True),
    ("7x7_s2_p3", (2, 2, 7, 9), 2, 7, 2, 3, False),
    ("7x7_s2_p3_bias", (1, 2, 11, 8), 3, 7, 2, 3, True),
    ("5x5_s1_p2_bias", (1, 2, 5, 7), 2, 5, 1, 2, True),
]
MAX_POOLS = [  # name, input, kernel, stride, padding, rule, size
    ("2x2_s2", (2, 2, 6, 8), 2, 2, 0, "signed", 1.0),
    ("2x2_s2_odd", (2, 2, 7, 9), 2, 2, 0, "signed", 1.0),
    ("2x2_s2_ties", (2, 2, 6, 8), 2, 2, 0, "grid", 3),
    ("3x3_s2_p1", (2, 2, 7, 9), 3, 2, 1, "signed", 1.0),
    ("3x3_s2_p1_even", (2, 2, 8, 6), 3, 2, 1, "signed", 1.0),
    ("3x3_s2_p1_ties", (2, 2, 7, 9), 3, 2, 1, "grid", 4),
]
AVERAGE_POOLS = [  # name, input, kernel, stride, padding, count_include_pad
    ("2x2_s2", (2, 2, 6, 8), 2, 2, 0, True),
    ("3x3_s2_p1", (2, 2, 7, 9), 3, 2, 1, True),
    ("3x3_s2_p1_exclude", (2, 2, 7, 9), 3, 2, 1, False),
    ("7x7_s1", (1, 2, 7, 7), 7, 1, 0, True),
]
ADAPTIVE = [  # input, output
    ((1, 3, 7, 5), (1, 1)),
    ((2, 3, 4, 4), (1, 1)),
    ((1, 2, 1, 1), (7, 7)),
    ((1, 2, 2, 2), (7, 7)),
    ((1, 2, 7, 7), (7, 7)),
    ((1, 3, 7, 5), (3, 2)),
]


def windows(cases):
    """Operations with sliding windows: convolutions and pools."""
    for label, x, out, k, s, p, bias in CONVOLUTIONS:
        inputs = {
            "input": (x, "signed", 1.0),
            "weight": ((out, x[1], k, k), "signed", 0.5),
        }
        if bias:
            inputs["bias"] = ((out,), "signed", 0.1)
        args = {"stride": s, "padding": p}
        cases[f"conv2d_{label}"] = case(
            f"conv2d_{label}",
            "conv2d",
            lambda input, weight, bias=None, s=s, p=p: F.conv2d(
                input, weight, bias, s, p
            ),
            args,
            list(inputs),
            **inputs,
        )
    for label, x, k, s, p, rule, size in MAX_POOLS:
        cases[f"max_pool2d_{label}"] = case(
            f"max_pool2d_{label}",
            "max_pool2d",
            lambda input, k=k, s=s, p=p: F.max_pool2d(input, k, s, p),
            {"kernel": k, "stride": s, "padding": p},
            ["input"],
            input=(x, rule, size),
        )
    for label, x, k, s, p, count_pad in AVERAGE_POOLS:
        cases[f"avg_pool2d_{label}"] = case(
            f"avg_pool2d_{label}",
            "avg_pool2d",
            lambda input, k=k, s=s, p=p, c=count_pad: F.avg_pool2d(
                input, k, s, p, False, c
            ),
            {"kernel": k, "stride": s, "padding": p, "count_include_pad": count_pad},
            ["input"],
            input=(x, "signed", 1.0),
        )
    for x, out in ADAPTIVE:
        name = f"adaptive_avg_pool2d_{x[2]}x{x[3]}_to_{out[0]}x{out[1]}"
        cases[name] = case(
            name,
            "adaptive_avg_pool2d",
            lambda input, out=out: F.adaptive_avg_pool2d(input, out),
            {"output": list(out)},
            ["input"],
            input=(x, "signed", 1.0),
        )


def batch_norms(cases):
    for name, x, training in (
        ("batch_norm_train", (3, 4, 5, 3), True),
        ("batch_norm_train_one_image", (1, 3, 2, 2), True),
        ("batch_norm_train_two_values", (2, 3, 1, 1), True),
        ("batch_norm_eval", (3, 4, 5, 3), False),
    ):
        c = (x[1],)
        cases[name] = case(
            name,
            "batch_norm",
            lambda input, weight, bias, running_mean, running_var, t=training: (
                F.batch_norm(
                    input, running_mean, running_var, weight, bias, t, 0.1, 1e-5
                )
            ),
            {"training": training, "momentum": 0.1, "eps": 1e-5},
            ["input", "weight", "bias"],
            input=(x, "signed", 1.7),
            weight=(c, "weight", 0.2),
            bias=(c, "signed", 0.1),
            running_mean=(c, "signed", 0.1),
            running_var=(c, "var", 0.5),
        )


def others(cases):
    for name, x, out, bias in (
        ("linear", (4, 5), 3, True),
        ("linear_no_bias", (3, 7), 4, False),
        ("linear_one_row", (1, 6), 2, True),
        ("linear_wide", (3, 64), 48, True),
    ):
        inputs = {"input": (x, "signed", 1.0), "weight": ((out, x[1]), "signed", 0.5)}
        if bias:
            inputs["bias"] = ((out,), "signed", 0.1)
        cases[name] = case(name, "linear", F.linear, {}, list(inputs), **inputs)
    for name, x, rule, size in (
        ("relu", (2, 3, 3, 5), "signed", 1.0),
        ("relu_zeros", (2, 3, 3, 5), "grid", 3),
    ):
        cases[name] = case(name, "relu", F.relu, {}, ["input"], input=(x, rule, size))
    for name, reduction, x, size, smoothing in (
        ("cross_entropy_mean", "mean", (4, 10), 2.0, 0),
        ("cross_entropy_sum", "sum", (5, 7), 2.0, 0),
        ("cross_entropy_mean_large_logits", "mean", (3, 4), 800.0, 0),
        ("cross_entropy_mean_one_row", "mean", (1, 2), 2.0, 0),
        ("cross_entropy_mean_smooth", "mean", (4, 10), 2.0, 0.1),
        ("cross_entropy_sum_smooth", "sum", (5, 7), 2.0, 0.3),
        ("cross_entropy_mean_all_smooth", "mean", (3, 4), 2.0, 1.0),
    ):
        cases[name] = case(
            name,
            "cross_entropy",
            lambda input, target, r=reduction, s=smoothing: F.cross_entropy(
                input, target, reduction=r, label_smoothing=s
            ),
            {"reduction": reduction, "label_smoothing": smoothing},
            ["input"],
            input=(x, "signed", size),
            target=((x[0],), "class", x[1]),
        )
    for name, x, size in (
        ("log_softmax", (4, 10), 2.0),
        ("log_softmax_large", (3, 4), 800.0),
    ):
        cases[name] = case(
            name,
            "log_softmax",
            lambda input: F.log_softmax(input, 1),
            {"dim": 1},
            ["input"],
            input=(x, "signed", size),
        )
    shape = (2, 3, 3, 5)
    cases["add"] = case(
        "add",
        "add",
        torch.add,
        {},
        ["input", "other"],
        input=(shape, "signed", 1.0),
        other=(shape, "signed", 1.0),
    )
    cases["flatten"] = case(
        "flatten",
        "flatten",
        lambda input: torch.flatten(input, 1),
        {"start_dim": 1},
        ["input"],
        input=((2, 3, 3, 2), "signed", 1.0),
    )


def all_ops():
    cases = {}
    windows(cases)
    batch_norms(cases)
    others(cases)
    return {**provenance(), "dtype": "float64", "upstream": "grad", "ops": cases}
