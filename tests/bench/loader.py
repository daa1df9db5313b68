#!/usr/bin/env python3
"""Photographs per second of our DataLoader and of PyTorch's with PIL, alternating.

    ninja -C build/release loader_bench
    tests/bench/loader.py ../shared/data/imagenet-sample/train --workers 2

Both make the ImageNet example's training batches from the same files with the same
number of workers, in persistent processes that alternate by epoch. The first epoch of
each is not counted. On a busy machine, only the ratio of CPU times per photograph is
reliable.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
AIM = 1.3


class Peer:
    def __init__(self, *command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args[0]} ended")
        return json.loads(answer)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--images", type=int, default=504)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--build", default=os.path.join(HERE, "../../build/release"))
    args = parser.parse_args()

    words = [args.folder, str(args.workers), str(args.batch), str(args.images)]
    peers = {
        "lockstep": Peer(os.path.join(args.build, "tests/loader_bench"), *words),
        "PyTorch": Peer("/usr/bin/python3", os.path.join(HERE, "torch_loader.py"),
                        *words)}
    epochs = {name: [] for name in peers}
    for turn in range(args.turns + 1):
        for name, peer in peers.items():
            epoch = peer.ask("epoch")
            if turn > 0:
                epochs[name].append(epoch)

    print(f"{args.workers} workers, batch {args.batch}, {args.images} photographs to "
          f"an epoch, {args.turns} epochs each, medians")
    median = {}
    for name, rows in epochs.items():
        seconds = statistics.median(row["seconds"] for row in rows)
        cpu = statistics.median(row["cpu"] for row in rows)
        median[name] = seconds, cpu
        print(f"{name:9} {args.images / seconds:7.1f} photographs/s"
              f" {1000 * cpu / args.images:7.2f} ms CPU per photograph")
    ours, theirs = median["lockstep"], median["PyTorch"]
    print(f"ratio     {theirs[0] / ours[0]:.2f}x by the clock, "
          f"{theirs[1] / ours[1]:.2f}x in CPU time (goal {AIM}x)")
    split = peers["lockstep"].ask("split")
    print("lockstep, ms CPU per photograph: "
          + ", ".join(f"{name} {ms:.2f}" for name, ms in split.items()))
    for peer in peers.values():
        peer.end()


if __name__ == "__main__":
    main()
