"""Holistic Trace Analysis's figures, computed from rows by its definitions (its code
reads only PyTorch's files): idle, compute and other time of a rank's device, and the
part of the communication that overlaps with computing.

Source: facebookresearch/HolisticTraceAnalysis 0.6.1, hta/common/trace_parser.py,
hta/common/types.py, hta/analyzers/breakdown_analysis.py, communication_analysis.py."""

import math
import re

COMMUNICATION = re.compile(r"^nccl|^hip|^hccl|.*ncclKernel")
MEMORY = re.compile(r"^(hip)?Memcpy|^(hip)?Memset|^dma")
NOT_COMPUTE = re.compile(r"^nccl|.*Memcpy|.*Memset|.*dma|^.*Sync|^Stream Wait Event|"
                         r"cuda.*LaunchKernel|^runFunction|^hip")
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


class Row:
    """An event in whole microseconds, rounded like HTA, or (`exact`) in nanoseconds."""

    def __init__(self, name, ts, dur, on_device, correlation, exact):
        begin, end = ts, ts + dur
        if not exact:
            begin, end = math.ceil(begin), math.floor(end)
        self.name, self.begin, self.end = name, begin, end
        self.on_device, self.correlation = on_device, correlation

    def is_a(self, kind):
        if kind == "COMMUNICATION":
            return bool(COMMUNICATION.match(self.name))
        return not (COMMUNICATION.match(self.name) or MEMORY.match(self.name)
                    or NOT_COMPUTE.match(self.name))


def rows_of_kineto(trace, exact):
    rows = []
    for event in trace["traceEvents"]:
        if event["ph"] != "X" or event.get("cat") in (None, "Trace"):
            continue
        args = event.get("args", {})
        rows.append(Row(event["name"], event["ts"], event["dur"],
                        event["cat"] in DEVICE, args.get("correlation"), exact))
    return rows


def rows_of_import(trace, base=0):
    """The rows of our format, after `trace import`. HTA rounds the times in the
    profiler's file, which are relative to `base` (ns); ours are relative to the first
    event."""
    rows, origin = [], trace["lockstep"]["rank_clock"]["origin_ns"] - base
    for event in trace["traceEvents"]:
        if event["ph"] != "X":
            continue
        args, name = event["args"], event["name"]
        on_device = event["cat"] in ("kernel", "copy", "collective")
        if event["cat"] == "phase" and name == "step":
            name = f"ProfilerStep#{args['step']}"
        ts = (origin + round(event["ts"] * 1000)) / 1000
        rows.append(Row(args.get("impl", name), ts, event["dur"], on_device,
                        args.get("correlation"), False))
    return rows


def without_last_step(rows):
    """HTA drops the host's events from the last step on, and the tasks they
    launched."""
    starts = {}
    for row in rows:
        if row.name.startswith("ProfilerStep"):
            starts[row.name] = max(row.begin, starts.get(row.name, row.begin))
    if len(starts) < 2:
        return rows
    last = max(starts.values())
    host = [row for row in rows if not row.on_device and row.begin < last]
    launched = {row.correlation for row in host if row.correlation is not None}
    return host + [row for row in rows if row.on_device and row.correlation in launched]


def union(rows):
    merged = []
    for begin, end in sorted((row.begin, row.end) for row in rows):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(spans):
    return sum(end - begin for begin, end in spans)


def common(a, b):
    return length(a) + length(b) - length(union(
        [Row("", begin, end - begin, True, None, True) for begin, end in [*a, *b]]))


def temporal_breakdown(rows):
    device = [row for row in rows if row.on_device]
    whole = union(device)
    kernel_time = whole[-1][1] - whole[0][0]
    idle = kernel_time - length(whole)
    compute = length(union([row for row in device if row.is_a("COMPUTATION")]))
    return {"idle": idle, "compute": compute,
            "non_compute": kernel_time - compute - idle, "kernel": kernel_time}


def overlap(rows):
    """(communication time, its part that overlaps with computing)"""
    device = [row for row in rows if row.on_device]
    comm = union([row for row in device if row.is_a("COMMUNICATION")])
    comp = union([row for row in device if row.is_a("COMPUTATION")])
    return length(comm), common(comp, comm)
