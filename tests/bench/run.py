#!/usr/bin/env python3
"""Compares lockstep's speed with libtorch and with a ceiling on oneDNN alone.

Peers alternate in one run, each in a separate pinned process. A sample is dropped if
other processes used more than 6 % of the machine; a peer without samples has no number
in the table. Only ratios are meaningful, not times: see README.md.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

# name: net, batch, and the project's target for the ratio to the best libtorch, by
# default convolution algorithm and thread count; None: no target.
CASES = {
    "resnet18-b128": ("resnet18", 128, {1: 2.0, 2: 2.0}),
    "resnet18-b32": ("resnet18", 32, {1: 1.8, 2: 1.5}),
    "vgg16-b128": ("vgg16", 128, {1: 1.8, 2: 1.5}),
    "resnet50-b8": ("resnet50", 8, {1: 1.3, 2: 1.3}),
}
DIRECT_AIM = 1.05
CEILING_AIM = 0.90
MEMORY_AIM = {"auto": 1.2, "direct": 1.05}
DIRTY = 0.06
NONE = "no clean sample"


def peers_of(args, net, batch, threads):
    """Label -> command, in the order of execution."""
    common = ["--batch", str(batch), "--threads", str(threads),
              "--steps", str(args.steps)]
    torch_step = os.path.join(args.build, "torch_step")
    ceiling = os.path.join(args.build, "ceiling")
    peers = {}
    if os.access(torch_step, os.X_OK):
        for layout, flag in (("NCHW", "0"), ("NHWC", "1")):
            peers[f"libtorch {layout}"] = [
                torch_step, "--net", net, *common, "--channels-last", flag]
    for conv, name in (("auto", "winograd"), ("direct", "direct")):
        if conv not in args.conv:
            continue
        if os.access(ceiling, os.X_OK):
            peers[f"ceiling {conv}"] = [ceiling, "--net", net, *common, "--conv", name]
        if args.lockstep:
            peers[f"lockstep {conv}"] = [
                args.lockstep, "bench-step", "--arch", net, *common, "--conv", conv]
    return peers


def busy_share(seconds):
    """The share of the machine that is busy during the next `seconds`."""
    def read():
        with open("/proc/stat") as stat:
            field = [int(v) for v in stat.readline().split()[1:9]]
        return sum(field) - field[3] - field[4], sum(field)
    busy, total = read()
    time.sleep(seconds)
    busy_after, total_after = read()
    return (busy_after - busy) / max(1, total_after - total)


def wait_for_quiet(patience):
    """Waits at most `patience` seconds until no other process uses the machine."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and busy_share(1.0) > DIRTY:
        pass


def run_once(label, command, threads, timeout):
    """Runs one process. Returns its JSON line, or None with the reason on stderr."""
    cores = "0" if threads == 1 else f"0-{threads - 1}"
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads),
                       OPENBLAS_NUM_THREADS=str(threads))
    try:
        done = subprocess.run(["taskset", "-c", cores, *command], env=environment,
                              capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        print(f"  {label}: no answer within {timeout} s", file=sys.stderr)
        return None
    lines = [l for l in done.stdout.splitlines() if l.startswith("{")]
    if done.returncode != 0 or not lines:
        reason = (done.stderr.strip() or "no JSON line").splitlines()[-1]
        print(f"  {label}: exit {done.returncode}: {reason}", file=sys.stderr)
        return None
    try:
        report = json.loads(lines[-1])
        if len(report["samples"]) != len(report["foreign"]):
            raise ValueError("as many foreign shares as samples, please")
    except (ValueError, KeyError) as error:
        print(f"  {label}: not the agreed JSON line: {error!r}", file=sys.stderr)
        return None
    return report


def clean(report):
    return [s for s, f in zip(report["samples"], report["foreign"]) if f <= DIRTY]


def measure(args, peers, threads):
    """Label -> list of reports, one per round. Adds rounds for peers with too few clean
    samples; omits a peer that fails once."""
    reports = {label: [] for label in peers}
    failed = set()
    for turn in range(args.rounds + args.extra_rounds):
        for label, command in peers.items():
            have = sum(len(clean(r)) for r in reports[label])
            enough = turn >= args.rounds and have >= args.min_clean
            if label in failed or enough:
                continue
            wait_for_quiet(args.patience)
            report = run_once(label, command, threads, args.timeout)
            if report is None:
                failed.add(label)
                continue
            reports[label].append(report)
            shown = " ".join(f"{s:.3f}({100 * f:.0f}%)"
                             for s, f in zip(report["samples"], report["foreign"]))
            print(f"  turn {turn + 1} {label}: {shown}", flush=True)
    return {label: r for label, r in reports.items() if r and label not in failed}


def peer_row(label, reports):
    samples = [s for r in reports for s in clean(r)]
    impls = reports[-1].get("impls", {})
    return {
        "peer": label,
        "median_s": statistics.median(samples) if samples else None,
        "clean": len(samples),
        "of": sum(len(r["samples"]) for r in reports),
        "turns_s": [statistics.median(clean(r)) if clean(r) else None for r in reports],
        # With one thread, CPU time barely depends on other processes; only a hint.
        "cpu_s": statistics.median(c for r in reports for c in r["cpu"])
        if all(r.get("cpu") for r in reports) else None,
        "peak_rss_mib": statistics.median(r["peak_rss_mib"] for r in reports),
        # oneDNN's `ref:any`; `reference:` are our own loops, in every step of lockstep.
        "reference_kernels": sorted(
            k for k in impls if not k.startswith("reference:")
            and any(part.startswith("ref") for part in k.split(":"))),
        "impls": impls,
        "library": reports[-1].get("library"),
        "blas": reports[-1].get("blas"),
        "onednn": reports[-1].get("onednn"),
        "reports": reports,
    }


def ratio(slow, fast):
    """Time of `slow` over time of `fast`: the median and its range over rounds."""
    if not slow or not fast or slow["median_s"] is None or fast["median_s"] is None:
        return None
    turns = [s / f for s, f in zip(slow["turns_s"], fast["turns_s"]) if s and f]
    value = slow["median_s"] / fast["median_s"]
    return {"value": value, "low": min(turns, default=value),
            "high": max(turns, default=value)}


def compare(rows, aims, threads):
    """Compares each peer with the better libtorch layout."""
    by = {row["peer"]: row for row in rows}
    layouts = [by[k] for k in ("libtorch NCHW", "libtorch NHWC")
               if k in by and by[k]["median_s"] is not None]
    # If one layout was not measured, the better one is unknown.
    known = [k for k in ("libtorch NCHW", "libtorch NHWC") if k in by]
    best = min(layouts, key=lambda r: r["median_s"]) if len(layouts) == len(known) and (
        layouts) else None
    # Memory is independent of machine load: compares with the layout that uses less.
    least = min((by[k]["peak_rss_mib"] for k in known), default=None)
    found = []
    for conv in ("auto", "direct"):
        for who in ("ceiling", "lockstep"):
            row = by.get(f"{who} {conv}")
            if row is None:
                continue
            entry = {"peer": row["peer"], "best_libtorch": best and best["peer"],
                     "speedup": ratio(best, row),
                     "aim": DIRECT_AIM if conv == "direct" else aims.get(threads),
                     "memory": least and row["peak_rss_mib"] / least,
                     "memory_aim": MEMORY_AIM[conv]}
            if who == "lockstep":
                entry["of_ceiling"] = ratio(by.get(f"ceiling {conv}"), row)
            found.append(entry)
    return best, found


def fmt_ratio(r):
    return NONE if r is None else f"{r['value']:.2f} ({r['low']:.2f}–{r['high']:.2f})"


def fmt(value, digits, unit=""):
    return NONE if value is None else f"{value:.{digits}f}{unit}"


def markdown(result):
    out = ["# Benchmark", "", result["machine"], ""]
    for title in ("blas", "onednn", "library"):
        values = {r[title] for c in result["cases"] for r in c["peers"] if r[title]}
        out += [f"- {title}: `{value}`" for value in sorted(values)]
    out += [f"- warning: {w}" for w in result["warnings"]]
    out += ["", "## Times (medians of clean samples)", "",
            "| case | T | peer | s | clean samples | CPU s, all samples | peak MiB |",
            "|---|---|---|---|---|---|---|"]
    for case in result["cases"]:
        for row in case["peers"]:
            out.append(f"| {case['case']} | {case['threads']} | {row['peer']} | "
                       f"{fmt(row['median_s'], 3)} | {row['clean']} of {row['of']} | "
                       f"{'–' if row['cpu_s'] is None else fmt(row['cpu_s'], 3)} | "
                       f"{row['peak_rss_mib']:.0f} |")
    out += ["", "## Ratios (range over turns)", "",
            "| case | T | peer | times as fast as libtorch's better layout | aim | "
            "share of the ceiling | aim | memory ÷ libtorch's smaller | aim |",
            "|---|---|---|---|---|---|---|---|---|"]
    for case in result["cases"]:
        for e in case["ratios"]:
            share = fmt_ratio(e["of_ceiling"]) if "of_ceiling" in e else "–"
            mine = e["peer"].startswith("lockstep")
            out.append(
                f"| {case['case']} | {case['threads']} | {e['peer']} | "
                f"{fmt_ratio(e['speedup'])} | {fmt(e['aim'], 2) if mine else '–'} | "
                f"{share} | {CEILING_AIM if mine else '–'} | "
                f"{'–' if e['memory'] is None else fmt(e['memory'], 2)} | "
                f"{fmt(e['memory_aim'], 2) if mine else '–'} |")
    return "\n".join(out) + "\n"


def machine_line():
    with open("/proc/cpuinfo") as info:
        text = info.read()
    model = next((l.split(":")[1].strip() for l in text.splitlines()
                  if l.startswith("model name")), "unknown CPU")
    wide = ("AVX-512" if " avx512f" in text
            else "no AVX-512: the ceiling has no Winograd")
    return f"{os.cpu_count()} cores, {model}, {wide}"


def warnings_of(cases):
    found = set()
    for row in (row for case in cases for row in case["peers"]):
        if row["peer"].endswith(" auto") and not any("wino" in k for k in row["impls"]):
            found.add(f"{row['peer']} ran no Winograd kernel: it is the direct step")
        if row["reference_kernels"]:
            found.add(f"{row['peer']} ran {', '.join(row['reference_kernels'])}")
        known = ("openblas", "mkl", "blis")
        if row["blas"] and not any(name in row["blas"] for name in known):
            found.add(f"libtorch's BLAS is {row['blas']}: install libopenblas-dev")
    return sorted(found)


def parse(argv):
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", default="/tmp/build-bench", help="folder of the peers")
    p.add_argument("--lockstep", default=os.path.join(root, "build/release/lockstep"))
    p.add_argument("--case", action="append", choices=sorted(CASES), help="repeatable")
    p.add_argument("--threads", type=int, action="append", help="repeatable; 1 and 2")
    p.add_argument("--conv", action="append", choices=["auto", "direct"])
    p.add_argument("--steps", type=int, default=3, help="samples per turn")
    p.add_argument("--rounds", type=int, default=3, help="turns of each peer")
    p.add_argument("--extra-rounds", type=int, default=3,
                   help="more turns for peers with too few clean samples")
    p.add_argument("--min-clean", type=int, default=5)
    p.add_argument("--patience", type=float, default=20,
                   help="seconds to wait for a quiet machine before each turn")
    p.add_argument("--timeout", type=float, default=600, help="seconds per process")
    p.add_argument("--quick", action="store_true",
                   help="ResNet18 B=32, 2 turns of 3 steps: a look, not a measurement")
    p.add_argument("--out", help="writes OUT.json and OUT.md")
    args = p.parse_args(argv)
    if args.quick:
        args.case = args.case or ["resnet18-b32"]
        args.rounds, args.extra_rounds, args.min_clean = 2, 0, 1
        args.patience = min(args.patience, 5)
    args.case = args.case or list(CASES)
    args.threads = [t for t in args.threads or (1, 2) if t <= os.cpu_count()]
    args.conv = args.conv or ["auto", "direct"]
    if not os.access(args.lockstep, os.X_OK):
        print(f"no {args.lockstep}: lockstep itself is skipped", file=sys.stderr)
        args.lockstep = None
    return args


def write_atomically(path, text):
    with open(path + ".tmp", "w") as f:
        f.write(text)
    os.replace(path + ".tmp", path)


def main(argv):
    args = parse(argv)
    if not peers_of(args, "resnet18", 1, 1):
        print(f"no peers in {args.build}; fix: cmake -S tests/bench -B {args.build} "
              "-DLOCKSTEP_BENCH=ON && cmake --build " + args.build, file=sys.stderr)
        return 1
    result = {"machine": machine_line(), "dirty_above": DIRTY, "cases": [],
              "warnings": []}
    for name in args.case:
        net, batch, aims = CASES[name]
        for threads in args.threads:
            print(f"{name} T={threads}", flush=True)
            reports = measure(args, peers_of(args, net, batch, threads), threads)
            rows = [peer_row(label, r) for label, r in reports.items()]
            _, ratios = compare(rows, aims, threads)
            result["cases"].append({"case": name, "threads": threads, "peers": rows,
                                    "ratios": ratios})
            result["warnings"] = warnings_of(result["cases"])
            if args.out:  # after each case: an interrupted run keeps its results
                write_atomically(args.out + ".json", json.dumps(result, indent=1))
                write_atomically(args.out + ".md", markdown(result))
    print(markdown(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
