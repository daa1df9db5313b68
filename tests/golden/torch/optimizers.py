"""SGD, Adam, AdamW, RMSprop: ten steps of the toy net on one batch, per options."""

import torch

from nets import STEPS, Run
from rules import provenance

BATCH = 4
CASES = {  # name: (class, options); all others are PyTorch's defaults
    "sgd_nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "sgd_nesterov_decay": (
        torch.optim.SGD,
        {"lr": 0.03, "momentum": 0.5, "nesterov": True, "weight_decay": 0.1},
    ),
    "adam": (torch.optim.Adam, {}),
    "adam_decay": (torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.01}),
    "adam_betas": (torch.optim.Adam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    "adam_amsgrad": (
        torch.optim.Adam,
        {"lr": 0.3, "betas": (0.9, 0.5), "amsgrad": True, "weight_decay": 0.01},
    ),
    "adamw": (torch.optim.AdamW, {}),
    "adamw_decay": (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.3}),
    "adamw_amsgrad": (
        torch.optim.AdamW,
        {"lr": 0.3, "betas": (0.9, 0.5), "amsgrad": True, "weight_decay": 0.05},
    ),
    "rmsprop": (torch.optim.RMSprop, {}),
    "rmsprop_decay": (torch.optim.RMSprop, {"weight_decay": 0.01, "alpha": 0.9}),
    "rmsprop_momentum": (torch.optim.RMSprop, {"momentum": 0.9, "eps": 1e-3}),
    "rmsprop_centered": (torch.optim.RMSprop, {"centered": True}),
    "rmsprop_all": (
        torch.optim.RMSprop,
        {"lr": 0.03, "alpha": 0.9, "centered": True, "momentum": 0.5,
         "weight_decay": 0.01},
    ),
}


def one_case(make, options):
    run = Run("toy", BATCH, torch.float64)
    optimizer = make(run.net.parameters(), **options)
    losses = []
    for _ in range(STEPS):
        losses.append(run.forward_backward())
        optimizer.step()
    return {
        "options": optimizer.defaults,
        "losses": losses,
        "parameters": {
            n: p.detach().reshape(-1).tolist() for n, p in run.net.named_parameters()
        },
    }


def all_optimizers():
    cases = {name: one_case(*case) for name, case in CASES.items()}
    return {**provenance(), "net": "toy", "batch": BATCH, "cases": cases}
