"""The distance of PyTorch's float32 from float64, over several equivalent float32 runs.

A single run's distance is random: ResNet18's gradient differs by 3e-6 if no ReLU input
changes its sign between the precisions, and by up to 1e-2 if one does."""

import contextlib

import torch

from nets import NETS, Run, compare_first, first_step
from rules import Short, provenance

PLAIN = ("as is", "without oneDNN", "channels last")


def variant(run, weights, which):
    """Configures `run` as variant `which`. Returns the context to compute in."""
    with torch.no_grad():
        for name, p in run.net.named_parameters():
            p.data = weights[name].clone()
            if which >= len(PLAIN):  # every weight differs by up to two ulp
                p.mul_(1 + 2.0**-22 * (2 * torch.rand_like(p) - 1))
        for name, b in run.net.named_buffers():
            b.copy_(weights[name])
    if which == 2 and run.x.dim() == 4:
        run.net.to(memory_format=torch.channels_last)
    if which == 1:
        return torch.backends.mkldnn.flags(enabled=False)
    return contextlib.nullcontext()


def spread(name, batch, devices, steps, count):
    run = Run(name, batch, torch.float64)
    run.forward_backward(devices)
    out = {}
    reference = first_step(run, out)
    golden = run.sgd() if steps else []
    run = Run(name, batch, torch.float32)
    weights = {n: t.clone() for n, t in run.net.state_dict().items()}
    found = []
    for which in range(count):
        torch.manual_seed(which)
        run.net.to(memory_format=torch.contiguous_format)
        with variant(run, weights, which):
            run.forward_backward(devices)
            near = compare_first(run, out, reference)
            mine = run.sgd() if steps else []
        near["losses"] = max(
            (abs(a - b) / max(abs(b), golden[0]) for a, b in zip(mine, golden)),
            default=0.0,
        )
        found.append(near)
    result = {
        "loss": [n["loss"] for n in found],
        "logits": [n["logits"] for n in found],
        "gradient": [n["gradient"]["whole"] for n in found],
        "worst_gradient": [n["gradient"]["worst"] for n in found],
    }
    if steps:
        result["losses"] = [Short(n["losses"]) for n in found]
    return {**result, "largest": {k: Short(max(v)) for k, v in result.items()}}


def all_spreads(data_parallel):
    nudged = "each weight times 1 + up to 2^-22, seeds 3, 4, ..."
    table = {}
    for name in NETS:
        count = 4 if name == "vgg16" else 8
        table[f"net_{name}"] = spread(name, 4, 1, True, count)
    for name, batch, n in data_parallel:
        count = 4 if name.startswith("vgg") else 8
        table[f"dp_{name}_b{batch}_n{n}"] = spread(name, batch, n, False, count)
    return {**provenance(), "variants": [*PLAIN, nudged], "spread": table}
