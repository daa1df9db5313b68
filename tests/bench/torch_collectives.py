#!/usr/bin/env python3
"""The peer of collectives.py: PyTorch's all_reduce on gloo between two processes.
Answers lines of input as collectives_bench does: `torch NUMEL REPEATS`.

    /usr/bin/python3 torch_collectives.py
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist


def own_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def machine_cpu_seconds():
    with open("/proc/stat") as stat:
        field = [int(v) for v in stat.readline().split()[1:9]]
    return (sum(field) - field[3] - field[4]) / os.sysconf("SC_CLK_TCK")


def next_order(rank):
    """What rank 0 was asked for, on both ranks: numel and repeats; 0 at the end."""
    line = sys.stdin.readline().split() if rank == 0 else []
    order = torch.tensor([int(word) for word in line[1:]] or [0, 0])
    dist.broadcast(order, 0)
    return order.tolist()


def take(numel, repeats):
    """Seconds of a call, CPU seconds of both ranks for it, and others' share."""
    values = torch.ones(numel)
    dist.all_reduce(values)
    values.zero_()
    dist.barrier()
    machine, own, start = machine_cpu_seconds(), own_cpu_seconds(), time.perf_counter()
    for _ in range(repeats):
        dist.all_reduce(values)
    seconds = time.perf_counter() - start
    cpu = torch.tensor([own_cpu_seconds() - own], dtype=torch.float64)
    dist.all_reduce(cpu)
    others = machine_cpu_seconds() - machine - cpu.item()
    return seconds / repeats, cpu.item() / repeats, others / seconds / os.cpu_count()


def be_rank(rank, file):
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", f"file://{file}", rank=rank, world_size=2)
    while (order := next_order(rank))[0]:
        seconds, cpu, foreign = take(*order)
        if rank == 0:
            print(f"{seconds:.9f} {cpu:.9f} {max(0, foreign):.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        be_rank(1, sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            store = os.path.join(folder, "store")
            other = subprocess.Popen([sys.executable, __file__, store],
                                     stdin=subprocess.DEVNULL)
            be_rank(0, store)
            sys.exit(other.wait())
