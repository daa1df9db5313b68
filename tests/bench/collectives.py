#!/usr/bin/env python3
"""All-reduce between two processes: our ring, Gloo and MPI beside PyTorch's Gloo.

The peers (`mpirun -np 2 collectives_bench` and torch_collectives.py) live as long as
the benchmark. Their samples alternate: in each turn, each backend sums a tensor several
times. Ratios are computed within a turn. A sample is dropped if others had more than
6 % of the CPU, unless --busy: the CPU times, of both ranks, then tell more than the
clock.

    tests/bench/collectives.py [--turns 7] [--busy]
"""
import argparse
import os
import statistics
import subprocess
import sys

from run import DIRTY, machine_line

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "../../build/release/tests/collectives_bench")
#: Name, elements, and calls in a sample.
CASES = [("1 KB", 250, 2000), ("64 KB", 16_000, 1000), ("1 MB", 250_000, 200),
         ("8 MB", 2_000_000, 25), ("25 MB", 6_250_000, 8), ("45 MB", 11_173_962, 5),
         ("100 MB", 25_000_000, 3), ("400 MB", 100_000_000, 1)]


class Peer:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit(f"{self.process.args} ended; fix: see its message")
        return answer

    def sample(self, backend, numel, repeats):
        """Seconds of a call, CPU seconds of both ranks, and others' share."""
        return [float(word) for word in self.ask(backend, numel, repeats)]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def start_peers(python, backends):
    """{backend: peer}; PyTorch's Gloo is `torch`."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    ranks = ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np", "2"]
    ours = Peer([*ranks, BENCH])
    peers = {name: ours for name in ours.ask("backends") if name in backends}
    peers["torch"] = Peer([python, os.path.join(HERE, "torch_collectives.py")])
    return peers


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def row(size, backend, turns, most_foreign):
    """A line of the table, from the samples {backend: (seconds, CPU, share)}."""
    pairs = [(turn[backend], turn["torch"]) for turn in turns
             if max(turn[backend][2], turn["torch"][2]) <= most_foreign]
    if not pairs:
        return f"| {size} | {backend} | no clean sample |"
    milliseconds = [1e3 * statistics.median(sample[i] for sample in samples)
                    for samples in zip(*pairs) for i in (0, 1)]
    return " | ".join([f"| {size} | {backend}", *(f"{ms:.3f}" for ms in milliseconds),
                       spread([peer[0] / own[0] for own, peer in pairs]),
                       spread([peer[1] / own[1] for own, peer in pairs]),
                       f"{len(pairs)} |"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--busy", action="store_true", help="drop no sample")
    parser.add_argument("--backends", default="ring,gloo,mpi")
    parser.add_argument("--python", default="/usr/bin/python3")
    args = parser.parse_args()
    peers = start_peers(args.python, args.backends.split(","))
    print(machine_line(), end="\n\n")
    print("| size | backend | ms | CPU, ms | PyTorch's Gloo: ms | its CPU, ms "
          "| times as fast | times less CPU | turns |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | --- | ---: |")
    everything = []
    for size, numel, repeats in CASES:
        turns = [{backend: peer.sample(backend, numel, repeats)
                  for backend, peer in peers.items()} for _ in range(args.turns)]
        everything += [sample[2] for turn in turns for sample in turn.values()]
        for backend in peers:
            if backend != "torch":
                print(row(size, backend, turns, 1 if args.busy else DIRTY), flush=True)
    print(f"\nOthers had {100 * statistics.median(everything):.0f} % of the CPU "
          f"(median over all samples; at most {100 * max(everything):.0f} %).")
    for peer in set(peers.values()):
        peer.end()


if __name__ == "__main__":
    main()
