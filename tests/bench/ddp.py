#!/usr/bin/env python3
"""Images per second of DistributedDataParallel on the CPUs of one machine.

Compares two processes with one thread each (ring, gloo, naive) with one process with
two threads, and with PyTorch's DDP on gloo. Peers alternate in one run. Ratios are
computed within a round, and a peer's sample is dropped if other processes used more
than 6 % of the machine: see README.md.

    tests/bench/ddp.py                           # ResNet18-CIFAR, batch 128, 3 rounds
    tests/bench/ddp.py --batch 8 --steps 3 --rounds 1 --keep-dirty   # smoke test
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from run import DIRTY, NONE, machine_line, wait_for_quiet

HERE = os.path.dirname(os.path.abspath(__file__))
WARMUP = 2  # steps: one bucket in the first, rebuilt before the second
AIM = 1.7   # target: times PyTorch's speed


def lockstep_command(args, own):
    return [args.lockstep, "train", "-a", "resnet18", "--dataset", "generated",
            "--length", str(args.batch * (WARMUP + args.steps)), "--no-augment",
            "-b", str(args.batch), "--epochs", "1", "--device-type", "cpu",
            "--steps", str(WARMUP + args.steps), "--timeout", "120", *own]


def peers_of(args):
    """Label -> command, in the order of execution."""
    ddp = ["--multiprocessing-distributed", "--devices", "2", "--world-size", "1",
           "--rank", "0", "--threads-per-device", "1", "--dist-backend"]
    peers = {
        "lockstep ring": lockstep_command(args, [*ddp, "ring"]),
        "lockstep gloo": lockstep_command(args, [*ddp, "gloo"]),
        "lockstep naive": lockstep_command(args, [*ddp, "ring", "--ddp-sync", "naive"]),
        "lockstep single": lockstep_command(
            args, ["--mode", "single", "--devices", "1", "--threads-per-device", "2"]),
    }
    torch = [args.python, os.path.join(HERE, "torch_ddp.py"), "--batch",
             str(args.batch), "--steps", str(args.steps), "--warmup", str(WARMUP)]
    probe = subprocess.run([args.python, "-c", "import torch, torchvision"],
                           capture_output=True)
    if probe.returncode == 0:
        peers["torch ddp"] = [*torch, "--world", "2", "--threads", "1"]
        peers["torch single"] = [*torch, "--world", "1", "--threads", "2"]
    else:
        print(f"no PyTorch for {args.python}; fix: apt-get install python3-torch "
              "python3-torchvision", file=sys.stderr)
    return peers


def machine_cpu_seconds():
    with open("/proc/stat") as stat:
        field = [int(v) for v in stat.readline().split()[1:9]]
    return (sum(field) - field[3] - field[4]) / os.sysconf("SC_CLK_TCK")


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def step_seconds(output, summary):
    """The seconds of each step after the warm-up, on rank 0."""
    if os.path.exists(summary):
        with open(summary) as file:
            steps = json.load(file)["steps"]
        return [s["seconds"] for s in steps if s["kind"] == "train"][WARMUP:]
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return json.loads(lines[-1])["samples"]


def run_once(args, label, command):
    """Runs one peer. Returns the median seconds of a step and the CPU share of other
    processes during the whole run; None if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        if label.startswith("lockstep"):
            command = [*command, "--summary", summary]
        machine, own, start = (machine_cpu_seconds(), children_cpu_seconds(),
                               time.monotonic())
        try:
            done = subprocess.run(["taskset", "-c", "0,1", *command], text=True,
                                  capture_output=True, timeout=args.timeout)
        except subprocess.TimeoutExpired:
            print(f"  {label}: no answer within {args.timeout} s", file=sys.stderr)
            return None
        elapsed = time.monotonic() - start
        others = (machine_cpu_seconds() - machine) - (children_cpu_seconds() - own)
        if done.returncode != 0:
            reason = (done.stderr.strip() or "no message").splitlines()[-1]
            print(f"  {label}: exit {done.returncode}: {reason}", file=sys.stderr)
            return None
        return {"seconds": statistics.median(step_seconds(done.stdout, summary)),
                "foreign": max(0.0, others / (elapsed * os.cpu_count()))}


def measure(args, peers):
    turns = {label: [] for label in peers}
    for turn in range(args.rounds):
        for label, command in peers.items():
            if not args.keep_dirty:
                wait_for_quiet(args.patience)
            result = run_once(args, label, command)
            if result is not None and result["foreign"] > DIRTY and not args.keep_dirty:
                print(f"  turn {turn + 1} {label}: others had "
                      f"{100 * result['foreign']:.0f} %: dropped", flush=True)
                result = None
            elif result is not None:
                print(f"  turn {turn + 1} {label}: {result['seconds']:.3f} s a step "
                      f"({100 * result['foreign']:.0f} %)", flush=True)
            turns[label].append(result)
    return turns


def ratio(turns, label, base):
    """The speedup over `base`: median and range over the common rounds."""
    values = [b["seconds"] / a["seconds"]
              for a, b in zip(turns[label], turns.get(base, [])) if a and b]
    if not values:
        return NONE
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def markdown(args, turns):
    out = [f"ResNet18-CIFAR, batch {args.batch}: {machine_line()}", ""]
    if args.keep_dirty:
        out += ["**Turns on a busy machine count: these numbers say nothing.**", ""]
    out += ["| peer | images/s | turns that count | ÷ torch ddp | ÷ lockstep single |",
            "|---|---|---|---|---|"]
    for label, all_of in turns.items():
        clean = [t["seconds"] for t in all_of if t]
        speed = f"{args.batch / statistics.median(clean):.1f}" if clean else NONE
        out.append(f"| {label} | {speed} | {len(clean)} of {len(all_of)} | "
                   f"{ratio(turns, label, 'torch ddp')} | "
                   f"{ratio(turns, label, 'lockstep single')} |")
    out += ["", f"Aim: lockstep ring and gloo at least {AIM} times torch ddp."]
    return "\n".join(out)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = os.path.dirname(os.path.dirname(HERE))
    parser.add_argument("--lockstep",
                        default=os.path.join(root, "build", "release", "lockstep"))
    parser.add_argument("--python", default="/usr/bin/python3",
                        help="one that has torch and torchvision")
    parser.add_argument("--batch", type=int, default=128, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=6, help="of a turn")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each peer")
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds to wait for a quiet machine before a turn")
    parser.add_argument("--timeout", type=float, default=600, help="seconds of a turn")
    parser.add_argument("--keep-dirty", action="store_true",
                        help="let turns on a busy machine count (a look, no measure)")
    return parser.parse_args()


def main():
    args = parse()
    turns = measure(args, peers_of(args))
    print(markdown(args, turns))
    return 0 if any(t for all_of in turns.values() for t in all_of) else 1


if __name__ == "__main__":
    sys.exit(main())
