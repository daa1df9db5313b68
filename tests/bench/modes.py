#!/usr/bin/env python3
"""Trains ResNet18 on CIFAR-10 in every mode on four virtual devices; VGG16-BN in hybrid
mode, which needs a classifier worth a device.

    tests/bench/modes.py DIR              # a table of modes: times, bytes, memory
    tests/bench/modes.py DIR --curves     # the loss after each epoch, until below 1.0

Prints Markdown. DIR is a folder with CIFAR-10's binary files. The table takes four
recorded steps after a warm-up step from each mode; use a quiet machine.
"""
import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

BATCH = 64
PIPELINE = ["--split", "layer2,layer3,layer4", "--pipeline-schedule", "1f1b",
            "--micro-batches", "4"]
# Where workers update the weights on their own, an update is of a quarter of the batch,
# so the learning rate is divided by four; hogwild without momentum (see CURVES.md).
MODES = {
    "dp": ["--lr", "0.02"],
    "dp-criterion": ["--lr", "0.02"],
    "ddp": ["--lr", "0.02"],
    "local-sgd": ["--local-steps", "4", "--lr", "0.02"],
    "model-parallel": [*PIPELINE, "--lr", "0.02"],
    "ps": ["--lr", "0.02"],
    "ps async": ["--consistency", "async", "--lr", "0.005"],
    "locked": ["--lr", "0.005"],
    "hogwild": ["--lr", "0.01", "--momentum", "0"],
    "dp vgg16_bn": ["--lr", "0.01", "--dropout", "0"],
    "hybrid vgg16_bn": ["--lr", "0.01", "--dropout", "0"],
}
# Without warm-up, the four recorded steps contain one average.
ONLY_CURVES = {"local-sgd": ["--warmup-steps", "10"]}


def train_command(args, mode, *more):
    net = "vgg16_bn" if "vgg16_bn" in mode else "resnet18"
    return [args.lockstep, "train", args.data, "-a", net, "--mode", mode.split()[0],
            "--devices", "4", "-b", str(BATCH), "--no-augment", "--seed", "1",
            *MODES[mode], *more]


def epochs_of(args, mode):
    """Yields (epoch, loss, training top-1, test top-1) until the loss is below 1.0."""
    run = subprocess.Popen(train_command(args, mode, "--epochs", "15",
                                         *ONLY_CURVES.get(mode, [])),
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    progress = None
    try:
        for line in run.stdout:
            found = re.match(r"Epoch: \[(\d+)\].*Loss \S+ \(([^)]+)\).*"
                             r"Acc@1 +\S+ \( *([\d.]+)\)", line)
            progress = found or progress
            test = re.search(r"\* +Acc@1 +([\d.]+)", line)
            if not test:
                continue
            loss = float(progress[2])
            yield int(progress[1]), loss, float(progress[3]), float(test[1])
            if not loss >= 1.0:  # NaN, too
                break
    finally:
        run.send_signal(signal.SIGINT)
        run.communicate()


def print_curves(args):
    print("| mode | epoch | loss | train top-1 % | test top-1 % |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for mode in args.mode or MODES:
        for epoch, loss, train, test in epochs_of(args, mode):
            print(f"| {mode} | {epoch} | {loss:.3f} | {train:.1f} | {test:.1f} |",
                  flush=True)


def seconds_per_batch(trace):
    """From the start of the first recorded step to the end of the last, over all ranks:
    where they keep their own pace, steps of the same number overlap others'."""
    with gzip.open(trace, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    steps = [event for event in events
             if event.get("cat") == "phase" and event["name"] == "step"]
    begin = min(event["ts"] for event in steps)
    end = max(event["ts"] + event["dur"] for event in steps)
    images = sum(event["args"]["batch"] for event in steps)
    return (end - begin) / 1e6 / images * BATCH


def staleness_of(summary):
    if "shared_model" in summary:
        return f"{summary['shared_model']['mean_staleness']:.2f}"
    if "parameter_servers" in summary:
        servers = summary["parameter_servers"]["servers"]
        return f"{servers[0]['mean_staleness']:.2f}"
    return "–"


def print_row(args, mode, folder):
    trace = os.path.join(folder, "trace.json.gz")
    emulated = os.path.join(folder, "emulated.json.gz")
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(train_command(args, mode, "--steps", "5", "--trace", trace,
                                 "--trace-steps", "1:5"), **quiet)
    subprocess.run([args.lockstep, "emulate", trace, "-o", emulated], **quiet)
    text = subprocess.run([args.lockstep, "trace", "summary", "--json", trace],
                          check=True, stdout=subprocess.PIPE).stdout
    summary = json.loads(text)
    steps = len(summary["train"]["steps"])
    ports = summary["train"]["ports"]
    busiest = max(ports, key=lambda port: max(ports[port].values()))
    peak = max(device["total"] for device in summary["peak_memory"].values())
    print(f"| {mode} | {seconds_per_batch(trace) * 1e3:.0f} "
          f"| {seconds_per_batch(emulated) * 1e3:.0f} "
          f"| {'host' if busiest == 'host' else 'device ' + busiest} "
          f"| {ports[busiest]['in'] / steps / 1e6:.1f} "
          f"| {ports[busiest]['out'] / steps / 1e6:.1f} | {peak / 1e6:.0f} "
          f"| {staleness_of(summary)} |", flush=True)


def print_table(args):
    print(f"| mode | ms per {BATCH} images, measured | emulated | busiest port "
          "| MB in | MB out | peak MB of a device | mean staleness |")
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for mode in args.mode or MODES:
            print_row(args, mode, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", metavar="DIR")
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--mode", action="append", choices=MODES, help="only this mode")
    parser.add_argument("--lockstep", default="build/release/lockstep")
    args = parser.parse_args()
    # As an exception, SIGTERM also ends the running lockstep.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    (print_curves if args.curves else print_table)(args)


if __name__ == "__main__":
    main()
