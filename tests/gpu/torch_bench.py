"""PyTorch's training steps on this machine's GPU, for tests/gpu/bench:

    torch_bench.py ARCH BATCH SIZE STEPS PRECISION(tf32|bfloat16) KIND(eager|compile)

Forward, cross entropy, backward, SGD, and a read of the loss on the host. Channels
last. Prints the seconds of each step as JSON."""

import json
import sys
import time

import torch

import torch_nets


def main():
    arch = sys.argv[1]
    batch, size, steps = map(int, sys.argv[2:5])
    precision, kind = sys.argv[5:7]
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    classes = 1000 if size > 64 else 10
    net = torch_nets.make(arch, classes, size).cuda().train()
    net = net.to(memory_format=torch.channels_last)
    sgd = torch.optim.SGD(net.parameters(), 0.001, 0.9, weight_decay=1e-4, fused=True)
    images = torch.randn(batch, 3, size, size, device="cuda")
    images = images.to(memory_format=torch.channels_last)
    labels = torch.arange(batch, device="cuda") % classes

    def forward():
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bfloat16"):
            return torch.nn.functional.cross_entropy(net(images), labels)
    if kind == "compile":
        forward = torch.compile(forward, mode="max-autotune")

    def step():
        sgd.zero_grad()
        loss = forward()
        loss.backward()
        sgd.step()
        loss.item()
        torch.cuda.synchronize()
    for _ in range(5):
        step()
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "torch": torch.__version__,
                      "gpu": torch.cuda.get_device_name()}))


if __name__ == "__main__":
    main()
