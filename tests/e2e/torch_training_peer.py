"""PyTorch's training with the recipes of `lockstep train`:

    torch_training_peer.py ARCH FOLDER WEIGHTS.safetensors BATCH EPOCHS IMAGES RECIPE

prints the losses and the learning rates as JSON; RECIPE is JSON, too. A net of
tests/golden/torch/nets.py in float64 on a folder in CIFAR-10's format, neither shuffled
nor augmented; schedules and parameter groups like in torchvision's references."""

import functools
import json
import sys

import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel
from torch.utils.checkpoint import checkpoint
from torchvision.models import resnet

from torch_ddp_peer import nets, read_images, read_weights


def parameter_groups(net, recipe):
    """As torchvision's references: set_weight_decay."""
    decays = {"norm": recipe.get("norm_weight_decay"),
              "bias": recipe.get("bias_weight_decay"), "other": recipe["wd"]}
    groups = {kind: [] for kind in decays}
    for module in net.modules():
        for name, parameter in module.named_parameters(recurse=False):
            is_norm = isinstance(module, torch.nn.BatchNorm2d)
            kind = "norm" if is_norm else "bias" if name == "bias" else "other"
            kind = kind if decays[kind] is not None else "other"
            groups[kind].append(parameter)
    return [{"params": group, "weight_decay": decays[kind]}
            for kind, group in groups.items() if group]


def schedule(optimizer, recipe, epochs):
    warmup = recipe.get("warmup", 0)
    if recipe.get("schedule") == "cosine":
        main = lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs - warmup)
    elif recipe.get("schedule") == "multi-step":
        main = lr_scheduler.MultiStepLR(optimizer, recipe["milestones"],
                                        recipe["gamma"])
    elif recipe.get("schedule") == "one-cycle":
        main = lr_scheduler.OneCycleLR(optimizer, recipe["lr"],
                                       total_steps=recipe["updates"])
    else:
        main = lr_scheduler.StepLR(optimizer, recipe.get("step_size", 30),
                                   recipe.get("gamma", 0.1))
    if not warmup:
        return main
    first = lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters=warmup)
    return lr_scheduler.SequentialLR(optimizer, [first, main], milestones=[warmup])


def optimizer_of(net, recipe):
    lr, kind = recipe["lr"], recipe.get("optimizer", "sgd")
    if kind == "sgd":
        return torch.optim.SGD(parameter_groups(net, recipe), lr, 0.9,
                               nesterov=recipe.get("nesterov", False))
    make = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
            "rmsprop": torch.optim.RMSprop}[kind]
    return make(net.parameters(), lr, **recipe.get("options", {}))


def recompute_blocks(net):
    """Runs every residual block again in the backward pass."""
    for module in net.modules():
        if isinstance(module, (resnet.BasicBlock, resnet.Bottleneck)):
            forward = module.forward
            module.forward = functools.partial(checkpoint, forward, use_reentrant=False)


def sums(net):
    return {name: float(value.sum()) for name, value in net.state_dict().items()}


def resume(recipe, net, optimizer, plan):
    """As main.py does. Returns the first epoch."""
    if "resume" not in recipe:
        return 0
    checkpoint = torch.load(recipe["resume"])
    net.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    plan.load_state_dict(checkpoint["scheduler"])
    return checkpoint["epoch"]


def main():
    arch, folder, weights = sys.argv[1:4]
    batch, epochs, count = map(int, sys.argv[4:7])
    recipe = json.loads(sys.argv[7])
    net = getattr(nets, arch)().double().train()
    net.load_state_dict(read_weights(weights))
    if recipe.get("recompute"):
        recompute_blocks(net)
    optimizer = optimizer_of(net, recipe)
    plan = schedule(optimizer, recipe, epochs)
    begin = resume(recipe, net, optimizer, plan)
    criterion = torch.nn.CrossEntropyLoss(
        label_smoothing=recipe.get("label_smoothing", 0))
    images, labels = read_images(folder, count)
    accumulate = recipe.get("accumulate", 1)
    decay, every = recipe.get("ema", 0), recipe.get("ema_steps", 1)
    average = AveragedModel(net, use_buffers=True, avg_fn=lambda mean, now, _: (
        mean * decay + now * (1 - decay)))
    losses, rates, updates = [], [], 0
    for epoch in range(begin, epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        batches = list(zip(images.split(batch), labels.split(batch)))
        for start in range(0, len(batches), accumulate):
            group = batches[start:start + accumulate]
            optimizer.zero_grad()
            for some_images, some_labels in group:
                loss = criterion(net(some_images), some_labels)
                (loss / len(group)).backward()
                losses.append(loss.item())
            if recipe.get("clip"):
                torch.nn.utils.clip_grad_norm_(net.parameters(), recipe["clip"])
            optimizer.step()
            updates += 1
            if decay and updates % every == 0:
                average.update_parameters(net)
            if 0 < recipe.get("updates", 0) != updates:  # OneCycleLR; not at its end
                plan.step()
        if "updates" not in recipe:
            plan.step()
        if epoch == 0 and "checkpoint" in recipe:  # what main.py saves
            torch.save({"epoch": 1, "arch": arch, "best_acc1": torch.tensor(12.5),
                        "state_dict": torch.nn.DataParallel(net).state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "scheduler": plan.state_dict()}, recipe["checkpoint"])
    print(json.dumps({"losses": losses, "rates": rates, "end": sums(net),
                      "average": sums(average.module)}))


if __name__ == "__main__":
    main()
