"""Whole nets: loss, logits, gradients, steps of SGD; DataParallel by chunks."""

import gc

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
from torchvision.models.resnet import BasicBlock

from rules import Short, digest, fill, flat64, images, labels, provenance

SGD = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4}
STEPS = 10
FEW_STEPS = 3  # of nets with more than 10 million parameters


class Toy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(5, 2)

    def forward(self, x):
        return self.fc(x)


def resnet18():
    return torchvision.models.resnet18(num_classes=10)


def resnet101():
    return torchvision.models.resnet101(num_classes=10)


def resnet152():
    return torchvision.models.resnet152(num_classes=10)


def resnet18_cifar():
    net = resnet18()
    net.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    net.maxpool = torch.nn.Identity()
    return net


def resnet20():
    """He et al.'s net for CIFAR-10, of torchvision's blocks: shortcuts of option B."""
    net = torchvision.models.ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10)
    net.conv1 = torch.nn.Conv2d(3, 16, 3, 1, 1, bias=False)
    net.bn1 = torch.nn.BatchNorm2d(16)
    net.maxpool = torch.nn.Identity()
    net.inplanes = 16
    net.layer1 = net._make_layer(BasicBlock, 16, 3)
    net.layer2 = net._make_layer(BasicBlock, 32, 3, stride=2)
    net.layer3 = net._make_layer(BasicBlock, 64, 3, stride=2)
    net.layer4 = torch.nn.Identity()
    net.fc = torch.nn.Linear(64, 10)
    return net


def alexnet():
    return torchvision.models.alexnet(num_classes=10, dropout=0.0)


def vgg16():
    return torchvision.models.vgg16(num_classes=10, dropout=0.0, init_weights=False)


def vgg16_bn():
    return torchvision.models.vgg16_bn(num_classes=10, dropout=0.0, init_weights=False)


NETS = {  # name: (factory, image shape, classes, description, lr of the SGD steps)
    "toy": (Toy, (5,), 2, "Linear(5,2), named fc", 0.01),
    "resnet18_cifar": (
        resnet18_cifar,
        (3, 32, 32),
        10,
        "torchvision resnet18, conv1 3x3 stride 1 padding 1, no maxpool",
        0.01,
    ),
    "resnet20": (
        resnet20,
        (3, 32, 32),
        10,
        "three stages of three torchvision BasicBlocks, 16 to 64 channels",
        0.01,
    ),
    "resnet18_imagenet": (
        resnet18,
        (3, 32, 32),
        10,
        "torchvision resnet18, 7x7 stride 2 stem with maxpool",
        0.01,
    ),
    "alexnet": (alexnet, (3, 64, 64), 10, "torchvision alexnet, dropout p=0", 0.001),
    "vgg16": (vgg16, (3, 32, 32), 10, "torchvision vgg16, dropout p=0", 0.001),
    "vgg16_bn": (vgg16_bn, (3, 32, 32), 10, "torchvision vgg16_bn, dropout p=0", 0.001),
}


class Run:
    """A net with its golden weights and batch, in one dtype, in train mode."""

    def __init__(self, name, batch, dtype, nudge=False):
        self.name, self.dtype = name, dtype
        make, shape, self.classes, _, self.lr = NETS[name]
        torch.manual_seed(0)
        self.net = make().to(dtype).train()
        fill(self.net, dtype)
        self.x = images((batch, *shape), dtype)
        self.y = labels(batch, self.classes)
        if nudge:  # measures the effect of an error of a few ulp in the weights
            with torch.no_grad():
                for p in self.net.parameters():
                    p.view(-1)[::2] *= 1 + 2.0**-50
                    p.view(-1)[1::2] *= 1 - 2.0**-50

    def forward_backward(self, chunks=1):
        """DataParallel with `chunks` devices: each chunk through a separate replica
        (same parameters, separate buffers; those of chunk 0 are kept), one mean
        loss."""
        self.net.zero_grad(set_to_none=True)
        outputs, survivors = [], None
        owned = {m: dict(m._buffers) for m in self.net.modules()}
        for part in self.x.chunk(chunks):
            for m, buffers in owned.items():
                m._buffers.update({k: b.clone() for k, b in buffers.items()})
            outputs.append(self.net(part))
            if survivors is None:
                survivors = {m: dict(m._buffers) for m in owned}
        for m, buffers in survivors.items():
            m._buffers.update(buffers)
        self.logits = torch.cat(outputs)
        self.loss = F.cross_entropy(self.logits, self.y)
        self.loss.backward()
        return self.loss.item()

    def gradients(self):
        return {n: p.grad for n, p in self.net.named_parameters()}

    def buffers(self):
        return {n: b for n, b in self.net.named_buffers() if b.is_floating_point()}

    def sgd(self):
        """Steps on the same batch; the first gradient is already computed."""
        large = sum(p.numel() for p in self.net.parameters()) > 10e6
        steps = FEW_STEPS if large else STEPS
        optimizer = torch.optim.SGD(
            self.net.parameters(), self.lr, SGD["momentum"], 0, SGD["weight_decay"]
        )
        losses = [self.loss.item()]
        optimizer.step()
        for _ in range(steps - 1):
            losses.append(self.forward_backward())
            optimizer.step()
        return losses


def away(a, b):
    """Squared distance and squared norm of two tensors."""
    a, b = flat64(a), flat64(b)
    d = a - b
    return float(np.dot(d, d)), float(np.dot(b, b))


def gradient_distance(mine, reference, noise):
    """Relative L2 distance: of the whole gradient, and the largest of any parameter."""
    pairs = {n: away(mine[n], reference[n]) for n in reference}
    whole = sum(d for d, _ in pairs.values()) / sum(s for _, s in pairs.values())
    worst = max((d / s, n) for n, (d, s) in pairs.items() if n not in noise)
    return {
        "whole": Short(whole**0.5),
        "worst": Short(worst[0] ** 0.5),
        "worst_name": worst[1],
    }


def relative(a, b):
    return Short((np.dot(a - b, a - b) / np.dot(b, b)) ** 0.5)


def digests(tensors):
    return {n: digest(n, t) for n, t in tensors.items()}


def pure_rounding(grads):
    """Gradients that are exactly zero in theory (a bias before a BatchNorm)."""
    size = {n: away(g, g)[1] ** 0.5 for n, g in grads.items()}
    return [n for n in size if size[n] < 1e-10 * max(size.values())]


def state_noise(mine, golden):
    """The largest difference of two tables of digests, relative to each tensor's
    norm."""
    return Short(
        max(
            abs(x - y) / g[0]
            for n, g in golden.items()
            for x, y in zip(mine[n], g)
            if g[0] > 0
        )
    )


def header(name, batch, chunks=None):
    _, shape, classes, what, _ = NETS[name]
    head = {"net": name, "what": what, "batch": batch, "image": list(shape)}
    head["classes"] = classes
    if chunks:
        head["chunks"] = chunks
    return {**provenance(), **head, "dtype": "float64"}


def first_step(run, out):
    out["labels"] = run.y.tolist()
    out["loss"] = run.loss.item()
    out["logits"] = run.logits.detach().double().tolist()
    grads = run.gradients()
    out["gradients"] = digests(grads)
    out["zero_gradients"] = pure_rounding(grads)
    return {n: g.clone() for n, g in grads.items()}


def compare_first(run, out, reference):
    logits = np.array(out["logits"]).reshape(-1)
    return {
        "loss": Short(abs(run.loss.item() - out["loss"]) / abs(out["loss"])),
        "logits": relative(flat64(run.logits), logits),
        "gradient": gradient_distance(
            run.gradients(), reference, out["zero_gradients"]
        ),
    }


def one_net(name, batch=4):
    run = Run(name, batch, torch.float64)
    run.forward_backward()
    out = header(name, batch)
    reference = first_step(run, out)
    losses = run.sgd()
    out["sgd"] = {
        **{**SGD, "lr": run.lr},
        "losses": losses,
        "state": digests({**dict(run.net.named_parameters()), **run.buffers()}),
    }
    for key, dtype, nudge in (
        ("float32", torch.float32, False),
        ("float64_nudged", torch.float64, True),
    ):
        run = None
        gc.collect()
        run = Run(name, batch, dtype, nudge)
        run.forward_backward()
        near = compare_first(run, out, reference)
        mine = run.sgd()
        near["losses"] = [  # later losses are tiny: relative to the first one
            Short(abs(a - b) / max(abs(b), losses[0])) for a, b in zip(mine, losses)
        ]
        state = digests({**dict(run.net.named_parameters()), **run.buffers()})
        near["state"] = state_noise(state, out["sgd"]["state"])
        out[key] = near
    return out


def data_parallel(name, batch, devices):
    run = Run(name, batch, torch.float64)
    run.forward_backward(devices)
    sizes = [len(c) for c in run.x.chunk(devices)]
    out = {**header(name, batch, sizes), "devices": devices}
    reference = first_step(run, out)
    if run.buffers():
        out["buffers"] = digests(run.buffers())
    else:  # without BatchNorm, DataParallel equals the single device
        run.forward_backward(1)
        out["single"] = compare_first(run, out, reference)
    for key, dtype, nudge in (
        ("float32", torch.float32, False),
        ("float64_nudged", torch.float64, True),
    ):
        run = None
        gc.collect()
        run = Run(name, batch, dtype, nudge)
        run.forward_backward(devices)
        out[key] = compare_first(run, out, reference)
    return out
