"""PyTorch's side of loader.py: epochs of its DataLoader over an ImageFolder.

    torch_loader.py FOLDER WORKERS BATCH IMAGES

Uses the ImageNet example's training transforms. For each input line, runs an epoch and
prints one line of JSON: seconds and CPU seconds (including workers). The workers
persist, so process startup is not measured.
"""
import json
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms as T


def cpu_of(pids):
    """CPU seconds of processes, from /proc."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main():
    folder, workers, batch, images = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(1)
    photographs = datasets.ImageFolder(folder, T.Compose([
        T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(),
        T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]))
    order = [i % len(photographs) for i in range(images)]
    loader = DataLoader(Subset(photographs, order), batch_size=batch,
                        num_workers=workers, persistent_workers=workers > 0)
    for _ in sys.stdin:
        pids = [os.getpid()]
        if loader._iterator is not None:
            pids += [worker.pid for worker in loader._iterator._workers]
        begin, cpu = time.monotonic(), cpu_of(pids)
        for _ in loader:
            pass
        print(json.dumps({"seconds": time.monotonic() - begin,
                          "cpu": cpu_of(pids) - cpu}), flush=True)


if __name__ == "__main__":
    main()
