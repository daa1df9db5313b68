#!/usr/bin/env python3
"""Compares two runs of the same command line by their traces.

    compare_traces.py BEFORE.json AFTER.json    # also .json.gz

Two traces are equal if every lane has the same events in the same order, with the same
arguments, and every reference (`parent`, `op`, `fwd`, `by`) refers to the same event.
Ignored are times, ids, source lines and their files, the command line, the sources, and
everything that depends on timing: the loader's lanes, memory counters, waits and
dependencies (an event may have ended before another one waits for it) and
`lockstep::create_plan` (the first thread that needs a plan creates it for all).

Prints the first differences of each lane. Exits 0 if there are none, else 1.
"""

import collections
import gzip
import json
import sys

REFERENCES = ("parent", "op", "fwd", "by")
TIMING = {"queued_us", "cpu_us", "busy_us", "waited_us", "id", "file", "line",
          "def_file", "def_line", "data_seconds", "deps", "for", "after"}
TIMED = {"sync", "lockstep::create_plan"}  # categories and names
MOST = 5  # differences shown per lane


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


class Trace:
    def __init__(self, path):
        content = read(path)
        self.header = content["lockstep"]
        self.lanes = collections.defaultdict(list)  # (process, thread): events
        self.names = {}
        lanes = collections.defaultdict(list)
        processes, threads = {}, {}
        for event in content["traceEvents"]:
            if event["ph"] == "M":
                where = processes if event["name"] == "process_name" else threads
                if "name" in event.get("args", {}):
                    where[event["pid"], event.get("tid", 0)] = event["args"]["name"]
            elif event["ph"] in "Xi" and not TIMED & {event.get("cat"), event["name"]}:
                lanes[event["pid"], event["tid"]].append(event)
        process_names = {pid: name for (pid, _), name in processes.items()}
        for (pid, tid), events in lanes.items():
            lane = f"{process_names.get(pid, pid)} / {threads.get((pid, tid), tid)}"
            if "loader" in lane or "worker" in lane:
                continue
            if not any("stream" in event["args"] for event in events):
                events.sort(key=lambda event: event["args"].get("id", 0))
            for number, event in enumerate(events):
                if "id" in event["args"]:
                    self.names[event["args"]["id"]] = f"{lane} #{number}"
            self.lanes[lane] = events

    def shown(self, event):
        """The event as text, without the fields that may differ between two runs."""
        args = {}
        for key, value in event["args"].items():
            if key in TIMING:
                continue
            if key in REFERENCES:
                ids = value if isinstance(value, list) else [value]
                value = sorted(self.names.get(i, "outside") for i in ids)
            args[key] = value
        return json.dumps([event["ph"], event.get("cat"), event["name"], args])


def differences(before, after):
    skip = {"command", "sources", "run", "boot", "origin_ns", "started", "host",
            "timings", "steps_timing", "unix_ns"}
    for key in sorted(set(before.header) | set(after.header)):
        if key in skip:
            continue
        if before.header.get(key) != after.header.get(key):
            yield f"lockstep.{key}: {str(before.header.get(key))[:200]} became " \
                  f"{str(after.header.get(key))[:200]}"
    for lane in sorted(set(before.lanes) | set(after.lanes)):
        one = [before.shown(event) for event in before.lanes.get(lane, [])]
        two = [after.shown(event) for event in after.lanes.get(lane, [])]
        if len(one) != len(two):
            yield f"{lane}: {len(one)} events became {len(two)}"
        found = 0
        for number, (a, b) in enumerate(zip(one, two)):
            if a != b and found < MOST:
                found += 1
                yield f"{lane} #{number}:\n  - {a[:600]}\n  + {b[:600]}"


def main(before, after):
    found = list(differences(Trace(before), Trace(after)))
    print("\n".join(found) if found else "equal but for times and source lines")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
