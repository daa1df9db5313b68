"""Learning rates of PyTorch's schedules, per epoch or update; OneCycleLR's momenta."""

import warnings

import torch
from torch.optim import lr_scheduler as torchs

from rules import provenance

LR = 0.1


def warmed_up(after, epochs, decay=0.01):
    """As torchvision's reference scripts warm up."""

    def make(optimizer):
        warm = torchs.LinearLR(optimizer, start_factor=decay, total_iters=epochs)
        return torchs.SequentialLR(optimizer, [warm, after(optimizer)], [epochs])

    return make


CASES = {  # name: (length, schedule)
    "step": (12, lambda o: torchs.StepLR(o, 5, 0.3)),
    "multi_step": (12, lambda o: torchs.MultiStepLR(o, [3, 4, 9], 0.5)),
    "multi_step_twice": (6, lambda o: torchs.MultiStepLR(o, [2, 2], 0.5)),
    "multi_step_warm": (
        12, warmed_up(lambda o: torchs.MultiStepLR(o, [3, 4, 9], 0.5), 2)),
    "cosine_warm": (12, warmed_up(lambda o: torchs.CosineAnnealingLR(o, 9), 3)),
    "one_cycle": (20, lambda o: torchs.OneCycleLR(o, LR, total_steps=20)),
    "one_cycle_options": (
        31, lambda o: torchs.OneCycleLR(
            o, LR, total_steps=31, pct_start=0.6, div_factor=7, final_div_factor=50)),
    "one_cycle_falls": (
        9, lambda o: torchs.OneCycleLR(o, LR, total_steps=9, pct_start=0.0)),
    "one_cycle_short": (2, lambda o: torchs.OneCycleLR(o, LR, total_steps=2)),
}


def values(length, make, optimizer):
    schedule = make(optimizer)
    lrs, momenta = [], []
    for _ in range(length):
        group = optimizer.param_groups[0]
        lrs.append(group["lr"])
        momenta.append(group["betas"][0] if "betas" in group else group["momentum"])
        optimizer.step()
        if len(lrs) < length:  # OneCycleLR raises an error beyond its end
            schedule.step()
    return {"lr": lrs, "momentum": momenta}


def all_schedules():
    warnings.simplefilter("ignore")  # SequentialLR's own call of step(epoch)
    parameter = [torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))]
    cases = {
        name: values(*case, torch.optim.SGD(parameter, LR, momentum=0.9))
        for name, case in CASES.items()
    }
    length, make = CASES["one_cycle"]
    cases["one_cycle_adam"] = values(length, make, torch.optim.Adam(parameter, LR))
    return {**provenance(), "lr": LR, "cases": cases}
