"""Pipelines by hand: a net cut into four stages, of which each has its own piece of the
autograd graph; micro-batches in the order of 1F1B; steps of SGD.

PyTorch 1.13 has no torch.distributed.pipelining. What its stages do (stage.py,
forward_one_chunk and backward_one_chunk) are the few lines of `Stage`."""

import torch
import torch.nn.functional as F
import torchvision
from torchvision.models.resnet import BasicBlock

from nets import SGD, digests, resnet18_cifar
from rules import Short, fill, images, labels, provenance

LR = 0.01


def linear_layers():
    layers = []
    for i, (a, b) in enumerate([(5, 7), (7, 6), (6, 8), (8, 3)]):
        layers += ([torch.nn.ReLU()] if i else []) + [torch.nn.Linear(a, b)]
    return torch.nn.Sequential(*layers)


def small_resnet():
    shortcut = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 1, 2, bias=False), torch.nn.BatchNorm2d(4)
    )
    return torch.nn.Sequential(
        BasicBlock(2, 2, 1),
        BasicBlock(2, 4, 2, shortcut),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 3),
    )


NETS = {  # name: (factory, image shape, classes, first parts of stages 1, 2, 3)
    "linear": (linear_layers, (5,), 3, ["2", "4", "6"]),
    "small_resnet": (small_resnet, (2, 8, 8), 3, ["1", "2", "4"]),
    "resnet18_cifar": (resnet18_cifar, (3, 32, 32), 10, ["layer2", "layer3", "layer4"]),
}
CASES = [  # net, batch, micro-batches, steps; 10 in 4 is 3, 3, 3, 1
    *[("linear", 12, 4, 3), ("linear", 10, 4, 3), ("linear", 16, 8, 3)],
    *[("small_resnet", 12, 4, 3), ("small_resnet", 10, 4, 3)],
    ("resnet18_cifar", 8, 4, 1),
]


def cut(net, cuts):
    """The stages: consecutive children, with the flattening of torchvision's ResNet."""
    stages = [[]]
    for name, child in net.named_children():
        if name in cuts:
            stages.append([])
        if name == "fc" and isinstance(net, torchvision.models.ResNet):
            stages[-1].append(torch.nn.Flatten())
        stages[-1].append(child)
    assert len(stages) == len(cuts) + 1
    return [torch.nn.Sequential(*stage) for stage in stages]


def one_f_one_b(stages, micro_batches):
    """Schedule1F1B: stages − stage forward passes, then backward and forward in turn.
    Each action is (operation, micro-batch)."""
    ranks = []
    for stage in range(stages):
        warm_up = min(micro_batches, stages - stage)
        order = [("F", m) for m in range(warm_up)]
        for m in range(micro_batches):
            order.append(("B", m))
            if warm_up + m < micro_batches:
                order.append(("F", warm_up + m))
        ranks.append(order)
    return ranks


class Stage:
    def __init__(self, module):
        self.module = module
        self.inputs, self.outputs = {}, {}

    def forward(self, m, x, first):
        x = x.detach() if first else x.detach().requires_grad_()
        self.inputs[m], self.outputs[m] = x, self.module(x)
        return self.outputs[m]

    def backward(self, m, root, gradient):
        torch.autograd.backward(root, gradient)
        del self.outputs[m]
        return self.inputs.pop(m).grad


class Pipeline:
    def __init__(self, modules, micro_batches):
        self.stages = [Stage(module) for module in modules]
        self.schedule = one_f_one_b(len(modules), micro_batches)

    def forward_backward(self, xs, ys):
        """Returns the loss: the mean over all rows of all micro-batches."""
        last, rows = len(self.stages) - 1, sum(len(y) for y in ys)
        sent, grads, roots, losses = {}, {}, {}, {}
        left = [list(order) for order in self.schedule]
        while any(left):
            for i, stage in enumerate(self.stages):
                while left[i]:
                    op, m = left[i][0]
                    if op == "F" and (i == 0 or (i, m) in sent):
                        x = xs[m] if i == 0 else sent.pop((i, m))
                        out = stage.forward(m, x, i == 0)
                        if i < last:
                            sent[i + 1, m] = out
                        else:
                            loss = F.cross_entropy(out, ys[m])
                            roots[m] = loss * (len(ys[m]) / rows)
                            losses[m] = roots[m].item()
                    elif op == "B" and (i == last or (i, m) in grads):
                        root = roots.pop(m) if i == last else stage.outputs[m]
                        grad = None if i == last else grads.pop((i, m))
                        grads[i - 1, m] = stage.backward(m, root, grad)
                    else:
                        break
                    left[i].pop(0)
        return sum(losses[m] for m in sorted(losses))


def text_of(schedule):
    return [
        " ".join(f"{stage}{op}{m}" for op, m in order)
        for stage, order in enumerate(schedule)
    ]


def train(net, run, x, y, steps):
    optimizer = torch.optim.SGD(
        net.parameters(), LR, SGD["momentum"], 0, SGD["weight_decay"]
    )
    losses, first = [], None
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        losses.append(run(x, y))
        first = first or digests({n: p.grad for n, p in net.named_parameters()})
        optimizer.step()
    state = {n: t for n, t in net.state_dict().items() if t.is_floating_point()}
    return {"losses": losses, "gradients": first, "state": digests(state)}


def made(name):
    net = NETS[name][0]().to(torch.float64).train()
    fill(net, torch.float64)
    return net


def pipeline(name, batch, micro_batches, steps):
    _, shape, classes, cuts = NETS[name]
    x, y = images((batch, *shape), torch.float64), labels(batch, classes)
    net = made(name)
    pipe = Pipeline(cut(net, cuts), micro_batches)

    def run(x, y):
        return pipe.forward_backward(x.chunk(micro_batches), y.chunk(micro_batches))

    golden = train(net, run, x, y, steps)

    whole = made(name)  # the chunks one after the other, on the whole net

    def accumulate(x, y):
        total = 0
        for part, targets in zip(x.chunk(micro_batches), y.chunk(micro_batches)):
            loss = F.cross_entropy(whole(part), targets) * (len(targets) / len(y))
            loss.backward()
            total += loss.item()
        return total

    other = train(whole, accumulate, x, y, steps)
    apart = max(abs(a - b) for a, b in zip(golden["losses"], other["losses"]))
    assert apart < 1e-12, apart
    return {
        **provenance(),
        **{"net": name, "batch": batch, "image": list(shape), "classes": classes},
        **{"cuts": cuts, "micro_batches": micro_batches, "dtype": "float64"},
        "sgd": {**SGD, "lr": LR},
        "schedule": text_of(pipe.schedule),
        **golden,
        "accumulation_losses_differ_by": Short(apart),
    }
