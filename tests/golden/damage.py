#!/usr/bin/env python3
"""Writes tests/golden/damaged/LAW.WHAT.json: copies of minimal.json with one error
each, including one as if emulated; and, for the laws of ranks, copies of
minimal_ddp.json as recorded with our ring and with Gloo.

Each file's name begins with the law that must reject it. Run this again after changing
either trace. A damage replaces one text, which must occur exactly once on the line of
the event with the given id (or, for a file-wide damage, exactly once in the file).
"""
from pathlib import Path

GOLDEN = Path(__file__).parent
REMOVE_LINE = object()

# law, what, id of the event (None: anywhere), old text, new text
DAMAGES = [
    ("format", "version", None, '"format": 1', '"format": 2'),
    ("format", "clock", None, '"clock": "measured"', '"clock": "guessed"'),
    ("format", "model", None, '"parameter_bytes": 48', '"parameters": 48'),
    ("times", "negative-dur", 33, '"dur":26.000', '"dur":-26.000'),
    ("sorted", "late-step", 1, '"ts":1.000,"dur":95.000', '"ts":2.250,"dur":93.750'),
    ("ids-unique", "twice", 21, '"id":21', '"id":20'),
    ("ids-unique", "no-id", 8, '"id":8,', ''),
    ("ids-unique", "no-step", 31, '"step":0,', ''),
    ("references", "op", 26, '"op":10', '"op":99'),
    ("references", "deps", 25, '"deps":[21,22,24]', '"deps":[21,22,99]'),
    ("references", "parent", 7, '"parent":3', '"parent":99'),
    ("references", "for", 8, '"for":[7]', '"for":[99]'),
    ("references", "fwd", 14, '"fwd":7', '"fwd":99'),
    ("references", "type", 23, '"deps":[20]', '"deps":"20"'),
    ("references", "no-op", 29, '"op":13,', ''),
    ("lanes-named", "thread", None,
     '"name":"thread_name","pid":2,"tid":1', '"name":"thread_name","pid":2,"tid":7'),
    ("lanes-named", "process", None,
     '"name":"process_name","pid":1', '"name":"process_name","pid":7'),
    ("sources-present", "def-file", 3, '"def_file":"parallel.cpp"',
     '"def_file":"elsewhere.cpp"'),
    ("sources-present", "file", None, '"train.cpp": "', '"other.cpp": "'),
    ("memory-positive", "negative", None, '"gradients":48', '"gradients":-48'),
    ("nesting", "overlap", 4, '"dur":2.000', '"dur":3.500'),
    ("nesting", "too-long", 3, '"dur":17.000', '"dur":18.000'),
    ("fifo", "overlap", 22, '"dur":6.000', '"dur":6.750'),
    ("parent-contains", "late", 7, '"parent":3', '"parent":4'),
    ("launch-order", "before-op", 23, '"op":6', '"op":13'),
    ("deps-respected", "kernel-too-early", 25, '"ts":18.000,"dur":12.000',
     '"ts":16.250,"dur":13.750'),
    ("sync-waits", "too-early", 17, '"dur":48.000', '"dur":46.000'),
    ("grad-ready", "by", 31, '"by":30', '"by":99'),
    ("grad-ready", "time", 31, '"ts":55.000', '"ts":55.500'),
    ("steps-whole", "no-end", 1, ',"dur":95.000', ''),
    ("steps-whole", "phase-outside", 11, '"ts":23.000,"dur":17.000',
     '"ts":23.000,"dur":77.000'),
    ("reduce-after-backward", "too-early", 32, '"ts":56.000,"dur":7.000',
     '"ts":54.500,"dur":8.500'),
    ("copies-on-receiver", "on-sender", 22, '"src":0,"dst":1', '"src":1,"dst":0'),
    ("copies-on-receiver", "within-device", 27, '"src":1,"dst":0', '"src":0,"dst":0'),
    ("copy-bytes", "shape", 32, '"shape":[12]', '"shape":[13]'),
    ("copy-bytes", "none", 28, '"bytes":8,', ''),
    ("d2h-scalars", "double", 33, '"bytes":4', '"bytes":8'),
    ("chunks", "equal", 1, '"chunks":[2,1]', '"chunks":[1,2]'),
    ("chunks", "batch", 1, '"batch":3', '"batch":4'),
    ("images-h2d", "unasked", 26, '"tensor":"labels"', '"tensor":"images"'),
    ("labels-h2d", "bytes", 26, '"bytes":24', '"bytes":12'),
    ("labels-h2d", "missing", 26, '"why":"h2d"', '"why":"other"'),
    ("scatter-bytes", "bytes", 20, '"bytes":40', '"bytes":60'),
    ("scatter-bytes", "missing", 21, REMOVE_LINE, None),
    ("replicate-bytes", "buffers-missing", 24, REMOVE_LINE, None),
    ("replicate-bytes", "bytes", 22, '"bytes":48', '"bytes":44'),
    ("gather-bytes", "bytes", 27, '"bytes":8', '"bytes":16'),
    ("gather-bytes", "missing", 27, '"why":"gather"', '"why":"other"'),
    ("grad-scatter-bytes", "bytes", 28, '"bytes":8', '"bytes":4'),
    ("grad-scatter-bytes", "in-eval", 1, '"kind":"train"', '"kind":"eval"'),
    ("reduce-bytes", "bytes", 32, '"bytes":48', '"bytes":40'),
    ("reduce-bytes", "missing", 32, '"why":"reduce"', '"why":"other"'),
]


# As if emulated, on a link whose speed no copy exceeds.
EMULATED_DAMAGES = [
    ("ports", "too-fast", 32, '"dur":7.000', '"dur":2.000'),
]


def as_emulated(text):
    return text.replace('"clock": "measured"',
                        '"clock": "emulated", "emulation": {"durations": '
                        '"own hardware", "link_gb_per_s": 0.016}')


# Damages of minimal_ddp.json, in which events of rank 1 have ids from 51.
DDP_DAMAGES = [
    ("halves-matched", "recv", 43, '"cat":"copy"', '"cat":"recv"'),
    ("ranks-agree", "bytes", 90, '"bytes":4', '"bytes":8'),
    ("ranks-agree", "missing", 90, '"seq":0', '"seq":7'),
    ("ring-bytes", "broadcast", 91, '"bytes":4', '"bytes":8'),
    ("ring-share", "bytes", 43, '"bytes":4', '"bytes":44'),
    ("ring-messages", "missing", 94, REMOVE_LINE, None),
    ("messages-agree", "why", 43, '"why":"all_reduce"', '"why":"gather"'),
    ("messages-agree", "dtype", 94, '"dtype":"float32"', '"dtype":"int32"'),
    ("ring-steps", "again", 44, '"ring_step":1', '"ring_step":0'),
    ("ring-forwarding", "dropped", 44, '"deps":[93]', '"deps":[]'),
    ("ring-forwarding", "first", 43, '"deps":[81]', '"deps":[]'),
    ("collective-deps", "dropped", 92, '"deps":[81]', '"deps":[]'),
    ("gradients-reduced", "other", 92, '"why":"all_reduce"', '"why":"other"'),
    ("bucket-order", "second-first", 42, '"bucket":0', '"bucket":1'),
    ("bucket-deps", "dropped", 42, '"deps":[31]', '"deps":[]'),
    ("bucket-deps", "too-early", 42, '"deps":[31]', '"deps":[30]'),
    ("buffers-broadcast", "unsaid", 1, '"broadcast_bytes":4', '"broadcast_bytes":0'),
    ("images-h2d-of-ranks", "labels", 71, '"bytes":16', '"bytes":8'),
    ("fifo", "message-too-long", 44, '"dur":2.000', '"dur":6.000'),
]


# Damages of minimal_ddp.json as recorded with Gloo, whose messages are modelled.
GLOO_DAMAGES = [
    ("ring-bytes", "gloo-all-reduce", 43, '"bytes":4', '"bytes":8'),
    ("ring-bytes", "gloo-broadcast", 91, '"bytes":4', '"bytes":8'),
    ("ring-messages", "gloo", 94, REMOVE_LINE, None),
]


def as_gloo(text):
    return (text.replace('"algorithm":"ring"', '"algorithm":"gloo"')
            .replace('"ring_step":', '"modelled":true,"ring_step":'))


def damage(lines, event, old, new):
    """Returns the lines with one line changed or removed."""
    mark = old if event is None else f'"id":{event},'
    hits = [i for i, line in enumerate(lines) if mark in line]
    assert len(hits) == 1, f"{mark} stands on {len(hits)} lines"
    line = hits[0]
    if old is REMOVE_LINE:
        return lines[:line] + lines[line + 1:]
    assert lines[line].count(old) == 1, f"{old} is not on the line of event {event}"
    return lines[:line] + [lines[line].replace(old, new)] + lines[line + 1:]


def main():
    folder = GOLDEN / "damaged"
    folder.mkdir(exist_ok=True)
    for stale in folder.glob("*.json"):
        stale.unlink()
    plain = (GOLDEN / "minimal.json").read_text()
    ddp = (GOLDEN / "minimal_ddp.json").read_text()
    sources = ((plain, DAMAGES), (as_emulated(plain), EMULATED_DAMAGES),
               (ddp, DDP_DAMAGES), (as_gloo(ddp), GLOO_DAMAGES))
    for whole, damages in sources:
        lines = whole.splitlines(keepends=True)
        for law, what, event, old, new in damages:
            text = "".join(damage(lines, event, old, new))
            (folder / f"{law}.{what}.json").write_text(text)
    print(f"{sum(len(damages) for _, damages in sources)} damaged copies")


main()
