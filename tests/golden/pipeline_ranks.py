#!/usr/bin/python3
"""Writes pipeline_rank0.json and pipeline_rank1.json, as PyTorch's profiler would for a
step of Schedule1F1B on two ranks: four micro-batches, a forward pass of 100 us, a
backward pass of 200 us, stage 1 half as fast, messages of 20 us.

Each rank has its own file and its own device 0. Ranges are named as
torch.distributed.pipelining names them (`PP:0F0`); backward kernels are launched on a
thread of their own; a SendRecv kernel of the receiver runs from its launch until the
data has come, as NCCL's does. Times in us."""

import json
import pathlib

F, B, SLOW, LINK, CALL = 100, 200, 2, 20, 8
ORDER = [["F0", "F1", "B0", "F2", "B1", "F3", "B2", "B3"],
         ["F0", "B0", "F1", "B1", "F2", "B2", "F3", "B3"]]


def passes():
    """{(rank, action): (begin, end)}, and {(rank, action): arrival of its input}."""
    times, inputs, at, done = {}, {}, [50, 50], [0, 0]
    while done != [8, 8]:
        for rank in (0, 1):
            if done[rank] == 8:
                continue
            action = ORDER[rank][done[rank]]
            forward, needed = action[0] == "F", (1 - rank, action)
            waits = rank == (1 if forward else 0)
            if waits and needed not in times:
                continue
            arrives = times[needed][1] + LINK if waits else 0
            begin = max(at[rank], arrives)
            length = (F if forward else B) * (SLOW if rank else 1)
            times[rank, action] = (begin, begin + length)
            inputs[rank, action] = arrives
            at[rank], done[rank] = begin + length, done[rank] + 1
    return times, inputs


def rank_file(rank, times, inputs):
    events, launches = [], 0

    def add(cat, name, tid, ts, dur, **args):
        pid = 0 if cat == "kernel" else 4000 + rank
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
                       "ts": ts, "dur": dur, "args": args})

    def launch(name, kernel, tid, ts, begin, end, stream):
        nonlocal launches
        launches += 1
        add("cpu_op", name, tid, ts, 4)
        add("cuda_runtime", "cudaLaunchKernel", tid, ts + 1, 2, correlation=launches)
        add("kernel", kernel, stream, begin, end - begin, device=0, stream=stream,
            correlation=launches)

    last = max(end for _, end in times.values())
    add("user_annotation", "ProfilerStep#1", 1, 0, last + 20)
    for i, action in enumerate(ORDER[rank]):
        ts, forward = 2 + i * CALL, action[0] == "F"
        begin, end = times[rank, action]
        arrives = inputs[rank, action]
        if arrives:
            waits_from = max(ts + 2, times[rank, ORDER[rank][i - 1]][1] if i else 0)
            launch("c10d::recv_", "ncclDevKernel_SendRecv", 1, ts,
                   min(waits_from, arrives - LINK), arrives, 20)
        add("user_annotation", f"PP:{rank}{action}", 1, ts + 1, CALL - 2)
        if forward:
            launch("aten::conv2d", "implicit_convolve_sgemm", 1, ts + 2, begin, end, 7)
        else:
            launch("ConvolutionBackward0", "dgrad2d_alg1_1", 2, ts + 2, begin, end, 7)
    return {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}],
        "traceEvents": events,
    }


def main():
    times, inputs = passes()
    for rank in (0, 1):
        path = pathlib.Path(__file__).resolve().parent / f"pipeline_rank{rank}.json"
        made = rank_file(rank, times, inputs)
        events = ",\n".join(json.dumps(event) for event in made.pop("traceEvents"))
        head = json.dumps(made)[:-1]
        path.write_text(f'{head}, "traceEvents": [\n{events}]}}\n')


if __name__ == "__main__":
    main()
