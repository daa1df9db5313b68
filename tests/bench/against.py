#!/usr/bin/env python3
"""How wrong emulate is on this machine: two devices predicted from a run on one.

Each run records a step on one device, and DataParallel and DistributedDataParallel on
two, all with --threads-per-device 1; then `emulate --against` sets the prediction, with
this machine's own profile, beside the recording. Prints the medians over all runs. Run
it on an idle machine with at least two cores: a run is dropped if other processes used
more than 6 % of the machine (README.md).

    tests/bench/against.py                        # ResNet18-CIFAR, 32 images each
    tests/bench/against.py --runs 1 --keep-dirty  # smoke test
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

from ddp import machine_cpu_seconds
from run import DIRTY, NONE, machine_line, wait_for_quiet

AIM_STEP, AIM_PHASE, SMALLEST_US = 0.05, 0.10, 1000
EACH = ", device"  # the time of one device, without waits
WARMUP, STEPS = 2, 7


def record(args, mode, devices, trace):
    batch = args.batch * devices
    subprocess.run(
        [args.lockstep, "train", "-a", args.arch, "--dataset", "generated", "--length",
         str(batch * STEPS), "--no-augment", "-j", "0", "-b", str(batch), "--epochs",
         "1", "--steps", str(STEPS), "--seed", "0", "--mode", mode, "--devices",
         str(devices), "--threads-per-device", "1", "--trace", trace, "--trace-steps",
         f"{WARMUP}:{STEPS}"], check=True, stdout=subprocess.DEVNULL)


def compare(args, mode, one, recorded, profile):
    """What was compared -> (predicted, recorded), in microseconds."""
    told = subprocess.run(
        [args.lockstep, "emulate", one, "--mode", mode, "--devices", "2", "--hardware",
         profile, "--against", recorded, "--json"], check=True, capture_output=True,
        text=True).stdout
    rows = {}
    for row in json.loads(told)["times"]:
        rows[row["what"]] = (row["predicted_us"], row["recorded_us"])
        if row["recorded_each_us"] > 0:
            rows[row["what"] + EACH] = (row["predicted_each_us"],
                                        row["recorded_each_us"])
    return rows


def one_run(args, folder, profile):
    """Mode -> what was compared, and the share of the machine that others used."""
    def path(name):
        return os.path.join(folder, name)

    wait_for_quiet(args.patience)
    began, busy = time.time(), machine_cpu_seconds()
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    record(args, "single", 1, path("one.json"))
    for mode in "dp", "ddp":
        record(args, mode, 2, path(mode + ".json"))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (spent.ru_utime - own.ru_utime) + (spent.ru_stime - own.ru_stime)
    whole = (time.time() - began) * os.cpu_count()
    foreign = max(0, machine_cpu_seconds() - busy - used) / whole
    return {mode: compare(args, mode, path("one.json"), path(mode + ".json"), profile)
            for mode in ("dp", "ddp")}, foreign


def table(mode, runs):
    """Lines of the medians, and whether all of them meet the aims."""
    lines, met = [f"{mode}, 2 devices, medians of {len(runs)} runs",
                  f"  {'':<24}{'predicted':>12}{'recorded':>12}{'error':>9}"
                  f"{'|error|':>9}   aim"], True
    for what in runs[0]:
        pairs = [run[what] for run in runs if run.get(what, (0, 0))[1] > 0]
        if not pairs:
            continue
        recorded = statistics.median(pair[1] for pair in pairs)
        errors = [(pair[0] - pair[1]) / pair[1] for pair in pairs]
        typical = statistics.median(map(abs, errors))
        aim = AIM_STEP if what == "one step" else AIM_PHASE
        judged = what == "one step" or recorded > SMALLEST_US
        met &= not judged or typical <= aim
        verdict = "met" if typical <= aim else "missed"
        predicted = statistics.median(pair[0] for pair in pairs)
        lines.append(
            f"  {what:<24}{predicted / 1e3:>9.2f} ms{recorded / 1e3:>9.2f} ms"
            f"{statistics.median(errors):>+9.1%}{typical:>9.1%}   "
            + (f"{aim:.0%}: {verdict}" if judged else "below 1 ms"))
    return lines, met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lockstep", default="build/release/lockstep")
    parser.add_argument("--arch", default="resnet18")
    parser.add_argument("--batch", type=int, default=32, help="images per device")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds to wait for a quiet machine before each run")
    parser.add_argument("--keep-dirty", action="store_true",
                        help="keep runs during which other processes were busy")
    args = parser.parse_args()
    print(machine_line())
    runs, dropped = [], 0
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "here.json")
        wait_for_quiet(args.patience)
        subprocess.run([args.lockstep, "emulate", "--calibrate", profile, "--arch",
                        args.arch, "--images", str(args.batch)], check=True)
        for number in range(args.runs):
            made, foreign = one_run(args, folder, profile)
            clean = foreign <= DIRTY or args.keep_dirty
            print(f"run {number}: others used {foreign:.1%}"
                  + ("" if clean else ", dropped"), file=sys.stderr)
            if clean:
                runs.append(made)
            else:
                dropped += 1
    if not runs:
        sys.exit(f"{NONE}; fix: repeat on an idle machine, or pass --keep-dirty")
    all_met = True
    for mode in "dp", "ddp":
        lines, met = table(mode, [run[mode] for run in runs])
        all_met &= met
        print("\n".join(["", *lines]))
    every = "every" if all_met else "not every"
    print(f"\n{dropped} runs dropped; {every} aim is met")
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
