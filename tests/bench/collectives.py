#!/usr/bin/env python3
"""All-reduce between two processes: our ring, Gloo and MPI beside PyTorch's Gloo.

Rounds of `mpirun -np 2 collectives_bench 1` and of torch_collectives.py alternate. The
ratios are computed within a round.

    tests/bench/collectives.py [--rounds 5]
"""
import argparse
import os
import re
import statistics
import subprocess

from run import machine_line

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "../../build/release/tests/collectives_bench")
OURS = re.compile(r"^ *(\d+ [KM]B) +(\w+): +[\d.]+ GB/s, ([\d.]+) ms")


def ours():
    """{(size, backend): seconds}"""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    ranks = ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np", "2"]
    text = subprocess.run([*ranks, BENCH, "1"], check=True, capture_output=True,
                          text=True).stdout
    found = (OURS.match(line) for line in text.splitlines())
    return {(m[1], m[2]): float(m[3]) / 1000 for m in found if m}


def torchs(python):
    text = subprocess.run([python, os.path.join(HERE, "torch_collectives.py")],
                          check=True, capture_output=True, text=True).stdout
    pairs = (line.split(": ") for line in text.splitlines())
    return {(size, "torch"): float(seconds) for size, seconds in pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default="/usr/bin/python3")
    args = parser.parse_args()
    rounds = [{**ours(), **torchs(args.python)} for _ in range(args.rounds)]
    print(machine_line(), end="\n\n")
    print("| size | backend | ms | PyTorch's Gloo, ms | times as fast |")
    print("| --- | --- | ---: | ---: | --- |")
    for size, backend in dict.fromkeys(key for r in rounds for key in r):
        both = [(r[size, backend], r[size, "torch"]) for r in rounds
                if (size, backend) in r and (size, "torch") in r]
        if backend == "torch" or not both:
            continue
        own, peer = (1e3 * statistics.median(times) for times in zip(*both))
        ratios = [b / a for a, b in both]
        ratio = statistics.median(ratios)
        print(f"| {size} | {backend} | {own:.3f} | {peer:.3f} | "
              f"{ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f}) |")


if __name__ == "__main__":
    main()
