#!/usr/bin/env python3
"""The peer of collectives.py: PyTorch's all_reduce on gloo between two processes.
Prints a line for each size: the name and the seconds of one call on rank 0.

    /usr/bin/python3 torch_collectives.py
"""
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing

CASES = [("1 KB", 250, 4000), ("64 KB", 16_000, 2000), ("1 MB", 250_000, 400),
         ("8 MB", 2_000_000, 50), ("45 MB", 11_173_962, 10), ("400 MB", 100_000_000, 1)]


def be_rank(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    for name, numel, repeats in CASES:
        values = torch.ones(numel)
        dist.all_reduce(values)
        values.zero_()
        dist.barrier()
        start = time.perf_counter()
        for _ in range(repeats):
            dist.all_reduce(values)
        seconds = (time.perf_counter() - start) / repeats
        if rank == 0:
            print(f"{name}: {seconds:.9f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        torch.multiprocessing.spawn(be_rank, (temporary,), nprocs=2)
