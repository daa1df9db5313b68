#!/usr/bin/python3
"""Generates the golden files: OMP_NUM_THREADS=1 ./make_goldens.py [NAME...].

With --check nothing is written: the values are computed again and compared with the
files, to 1e-10 of the largest value of each list (another BLAS may round
differently)."""

import argparse
import functools
import gc
import json
import pathlib
import resource
import time

import torch

import buckets
import ddp
import ddp_cases
import nets
import ops
import optimizers
import philox
import pipelines
import printed
import rules
import sampler
import schedules
import spread
import tables
import workers

HERE = pathlib.Path(__file__).resolve().parent
DATA_PARALLEL = [
    *[("toy", 4, 4), ("toy", 5, 4)],
    *[("resnet18_cifar", 10, n) for n in (2, 3, 4)],
    *[("resnet18_cifar", 5, 4), ("vgg16", 10, 4)],
]


def files():
    """File name without .json → the function that generates its content."""
    jobs = {
        "philox": tables.philox,
        "ops": ops.all_ops,
        "init": tables.initialisation,
        "chunks": tables.chunks,
        "ddp_buckets": buckets.all_buckets,
        "sampler": sampler.all_samplers,
        "optimizers": optimizers.all_optimizers,
        "schedules": schedules.all_schedules,
        "printed": printed.printed,
    }
    for name in nets.NETS:
        jobs[f"net_{name}"] = functools.partial(nets.one_net, name)
    for name, batch, n in DATA_PARALLEL:
        job = functools.partial(nets.data_parallel, name, batch, n)
        jobs[f"dp_{name}_b{batch}_n{n}"] = job
    for name, batch, n in ddp.WHOLE_NETS:
        job = functools.partial(ddp.whole_net, name, batch, n)
        jobs[f"ddp_{name}_n{n}"] = job
    for name, batch, m, steps in pipelines.CASES:
        job = functools.partial(pipelines.pipeline, name, batch, m, steps)
        jobs[f"pipeline_{name}_b{batch}_m{m}"] = job
    for job in ddp_cases.JOBS:
        jobs[f"ddp_{job.__name__}"] = job
    for job in workers.JOBS:
        jobs[f"workers_{job.__name__}"] = job
    jobs["float32_spread"] = functools.partial(spread.all_spreads, DATA_PARALLEL)
    return jobs


SKIPPED = (
    *("made_by", "float32", "float64_nudged", "single", "zero_gradients", "spread"),
    "accumulation_losses_differ_by",
)


def differences(old, new, where, found):
    """Collects the paths at which `new` differs from `old`."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old.keys() != new.keys():
            found.append(f"{where}: other keys")
            return
        zero = old.get("zero_gradients", [])
        for k in old:
            if k not in SKIPPED:
                skip = old[k] if k == "gradients" and zero else None
                a, b = old[k], new[k]
                if skip is not None:
                    a = {n: v for n, v in a.items() if n not in zero}
                    b = {n: v for n, v in b.items() if n not in zero}
                differences(a, b, f"{where}.{k}", found)
    elif isinstance(old, list) and isinstance(new, list):
        numeric = all(isinstance(v, (int, float)) for v in [*old, *new])
        if len(old) != len(new):
            found.append(f"{where}: other length")
        elif numeric and old:
            scale = max(abs(v) for v in old) or 1.0
            if max(abs(a - b) for a, b in zip(old, new)) > 1e-10 * scale:
                found.append(where)
        else:
            for i, (a, b) in enumerate(zip(old, new)):
                differences(a, b, f"{where}[{i}]", found)
    elif isinstance(old, (int, float)) and isinstance(new, (int, float)):
        if abs(old - new) > 1e-10 * (abs(old) or 1.0):
            found.append(where)
    elif old != new:
        found.append(where)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    philox.self_check()
    jobs, bad = files(), []
    if unknown := set(options.names) - set(jobs):
        parser.error(f"no such file: {', '.join(sorted(unknown))}")
    for name in options.names or jobs:
        start, path = time.time(), options.out / f"{name}.json"
        content = jobs[name]()
        if options.check:
            found = []
            new = json.loads(rules.text(content))
            differences(json.loads(path.read_text()), new, name, found)
            print(f"{path.name}: {len(found)} differences", *found[:5], flush=True)
            bad += found
        else:
            rules.write(path, content)
        content = None
        gc.collect()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"  {time.time() - start:.1f} s, peak so far {peak:.1f} GiB", flush=True)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
