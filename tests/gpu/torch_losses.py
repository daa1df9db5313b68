"""PyTorch's losses on this machine, for tests/gpu/run:

    torch_losses.py FOLDER WEIGHTS.safetensors BATCH STEPS

ResNet18 (CIFAR's stem) on the first images of a set in CIFAR-10's format, SGD 0.001
with momentum 0.9 and weight decay 1e-4. (At 0.01, rounding errors grow by more than 10x
per step; after ten steps the comparison of errors would be random.) Prints the losses
in float64, float32, TF32 and under bfloat16 autocast, as JSON."""

import json
import sys

import torch

import torch_nets


def losses(weights, images, labels, batch, dtype, tf32, amp):
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
    net = torch_nets.make("resnet18", 10, 32).to("cuda", dtype).train()
    net.load_state_dict(weights)
    net = net.to(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(net.parameters(), 0.001, 0.9, weight_decay=1e-4)
    found = []
    for some, some_labels in zip(images.split(batch), labels.split(batch)):
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            loss = torch.nn.functional.cross_entropy(
                net(some.to("cuda", dtype)), some_labels.to("cuda"))
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        found.append(loss.item())
    return found


def main():
    folder, path = sys.argv[1:3]
    batch, steps = map(int, sys.argv[3:5])
    weights = torch_nets.read_weights(path)
    images, labels = torch_nets.read_cifar(folder, batch * steps)
    kinds = {"float64": (torch.float64, False, False),
             "float32": (torch.float32, False, False),
             "tf32": (torch.float32, True, False),
             "bfloat16": (torch.float32, True, True)}
    print(json.dumps({name: losses(weights, images, labels, batch, *kind)
                      for name, kind in kinds.items()}))


if __name__ == "__main__":
    main()
