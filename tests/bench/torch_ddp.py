#!/usr/bin/env python3
"""The peer of ddp.py: PyTorch's DistributedDataParallel on gloo, one process per rank,
each with its share of the batch. Prints one JSON line: the seconds of each step on rank
0, and the CPU seconds of all ranks.

    /usr/bin/python3 torch_ddp.py --world 2 --threads 1 --batch 128 --steps 5
"""
import argparse
import json
import os
import resource
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing
import torchvision
from torch.nn.parallel import DistributedDataParallel


def resnet18_cifar():
    """torchvision's ResNet18 with the stem for 32x32 pictures."""
    net = torchvision.models.resnet18(num_classes=10)
    net.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    net.maxpool = torch.nn.Identity()
    return net


def be_rank(rank, args, folder):
    torch.set_num_threads(args.threads)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank,
                            world_size=args.world)
    torch.manual_seed(0)
    net = DistributedDataParallel(resnet18_cifar()) if args.world > 1 else (
        resnet18_cifar())
    sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    loss_of = torch.nn.CrossEntropyLoss()
    images = torch.randn(args.batch // args.world, 3, 32, 32)
    labels = torch.randint(10, (args.batch // args.world,))
    seconds = []
    for _ in range(args.warmup + args.steps):
        start = time.perf_counter()
        loss = loss_of(net(images), labels)
        sgd.zero_grad(set_to_none=True)
        loss.backward()
        sgd.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu = torch.tensor([usage.ru_utime + usage.ru_stime])
    dist.all_reduce(cpu)
    if rank == 0:
        print(json.dumps({"samples": seconds[args.warmup:], "cpu": cpu.item()}),
              flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    args = parser.parse_args()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(be_rank, (args, folder), args.world)


if __name__ == "__main__":
    main()
