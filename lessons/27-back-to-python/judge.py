"""Runs a learner's lab.py on three ranks, beside PyTorch's own classes:

    judge.py LAB.py FOLDER SEED

writes FOLDER/facts-R.json for each rank R, and the profiles that check.cpp reads.
check.cpp judges; here is only measured. A rank ends with the first part that fails.
"""

import contextlib
import importlib.util
import json
import multiprocessing
import os
import random
import signal
import sys
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data.distributed import DistributedSampler

from guards import (Reference, all_reduce, calls, guard_references, note_calls,
                    reference, unfinished_after, wait_for_works, works)

WORLD, WIDTH, LAYERS, ROWS = 3, 256, 6, 4
LATE = 4  # seconds that the other ranks wait for rank 0's hooks to return
SOON = 2  # the most seconds that the last rank waits for rank 0 to wait
PATIENCE = 15  # seconds for one part; longer than those of a collective, below
ROUNDING = 1e-12  # relative


class TooLong(Exception):
    """A part has not ended."""


def load(path):
    sys.dont_write_bytecode = True  # leaves the learner's folder as it is
    spec = importlib.util.spec_from_file_location("lab", path)
    lab = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lab)
    return lab


def net():
    """In double: an order of additions changes a gradient by less than 1e-12. One bias
    is frozen."""
    torch.manual_seed(1)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    layers[2].bias.requires_grad = False
    return torch.nn.Sequential(*layers).double()


def wrapped(model):
    with reference():
        return DistributedDataParallel(model, bucket_cap_mb=1,
                                       gradient_as_bucket_view=True)


def images(rank, step=0):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(ROWS, WIDTH, generator=generator, dtype=torch.float64)


def loss_of(outputs):
    return outputs.square().mean()


def gradients(model):
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def places_of(model):
    return [p.grad.data_ptr() for p in model.parameters() if p.grad is not None]


def difference(mine, theirs):
    """The largest difference, relative to the largest value; and a guess of the factor
    between the two."""
    scale = max(t.abs().max().item() for t in theirs)
    worst = max((m - t).abs().max().item() for m, t in zip(mine, theirs, strict=True))
    dot = sum((m * t).sum().item() for m, t in zip(mine, theirs))
    factor = dot / sum((t * t).sum().item() for t in theirs)
    return {"error": worst / scale, "factor": factor}


def profiled(path, work):
    """Writes a profile of `work`, as the exercise does, but out of the learner's
    reach. Returns what it returns."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        result = work()
        wait_for_works()
    events = [{"ph": "X", "cat": "cpu_op", "name": event.name, "pid": os.getpid(),
               "tid": event.thread, "ts": event.time_range.start,
               "dur": event.time_range.elapsed_us(),
               "args": {"Input Dims": event.input_shapes}}
              for event in recorded.events()]
    ranks = {"backend": "gloo", "rank": dist.get_rank(), "world_size": WORLD}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "distributedInfo": ranks,
                   "traceEvents": events}, file)
    return result


class Rank:
    """One rank; each method is a part, and returns its facts."""

    def __init__(self, lab, folder, seed, rank, met):
        self.lab, self.folder, self.seed, self.rank = lab, folder, seed, rank
        self.returned, self.joined, self.waits = met
        self.raised = None  # by the hook

    def path(self, name):
        return os.path.join(self.folder, f"{name}-{self.rank}.json")

    def reference_gradients(self, step=0):
        model = net()
        ddp = wrapped(model)  # lives until backward has ended
        loss_of(ddp(images(self.rank, step))).backward()
        return gradients(model)

    def average(self):
        """The last rank begins when rank 0 waits for an all-reduce, or has ended: what
        rank 0 has begun and does not wait for is unfinished then."""
        theirs, model = self.reference_gradients(), net()
        loss_of(model(images(self.rank))).backward()
        own, places = gradients(model), places_of(model)
        before = [p.detach().clone() for p in model.parameters()]

        def work():
            if self.rank == WORLD - 1:
                self.waits.wait(SOON)
            return unfinished_after(lambda: self.lab.average_gradients(model),
                                    self.waits.set if self.rank == 0 else int)

        left = profiled(self.path("average"), work)
        mine = gradients(model)
        if len(mine) != len(theirs):
            return {"number": len(mine), "expected": len(theirs)}
        weights = all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
        untouched = all(torch.equal(a, b) for a, b in zip(own, mine))
        return {**difference(mine, theirs), "weights_kept": weights,
                "untouched": untouched, "unfinished": left,
                "in_place": places == places_of(model),
                "sizes": [g.numel() for g in theirs], "calls": list(calls)}

    def hooked(self):
        """A step with the learner's hook, after those that rebuild the buckets. The
        other ranks begin backward when all of rank 0's hooks have returned, or when
        they have waited long enough."""
        model, buckets, returned, norms = net(), [], [], {}
        ddp = wrapped(model)

        def call(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            buckets.append({"index": bucket.index(), "values": bucket.buffer().numel(),
                            "parameters": [p.data_ptr() for p in bucket.parameters()]})
            try:
                future = self.lab.hook(state, bucket)
                if not isinstance(future, torch._C.Future):
                    raise TypeError(f"the hook returned a {type(future).__name__}, "
                                    "not a torch.futures.Future")
            except BaseException as error:  # DDP raises another one
                self.raised = error
                raise
            returned.append((bucket.buffer().data_ptr(), future))
            if bucket.is_last():
                buckets[-1]["early"] = not self.joined.is_set()
                buckets[-1]["complete"] = sum(f.done() for _, f in returned)
                self.returned.set()
            return future

        ddp.register_comm_hook(norms, call)
        self.returned.set(), self.joined.set()
        for step in range(2):
            model.zero_grad()
            loss_of(ddp(images(self.rank, step))).backward()
        dist.barrier()
        self.returned.clear(), self.joined.clear()
        dist.barrier()
        for noted in (buckets, returned):  # norms keeps those of the step before
            noted.clear()
        model.zero_grad()
        loss = loss_of(ddp(images(self.rank, 2)))

        def backward():
            if self.rank != 0:
                self.returned.wait(LATE)
                self.joined.set()
            loss.backward()

        profiled(self.path("hook"), backward)
        theirs = self.reference_gradients(2)
        values = [(pointer, future.value()) for pointer, future in returned]
        in_place = [(value[0] if isinstance(value, (list, tuple)) else value).data_ptr()
                    == pointer for pointer, value in values]
        self.note_norms(model, buckets, norms, theirs)
        return {**difference(gradients(model), theirs), "buckets": buckets,
                "in_place": all(in_place), "early": buckets[-1].get("early", False),
                "complete": buckets[-1].get("complete", 0), "keys": sorted(norms)}

    def note_norms(self, model, buckets, norms, theirs):
        """Adds to each bucket what the hook wrote, and what it should have."""
        alone = net()
        loss_of(alone(images(self.rank, 2))).backward()
        trained = [p.data_ptr() for p in model.parameters() if p.grad is not None]
        for bucket in buckets:
            order = [trained.index(p) for p in bucket.pop("parameters")]
            bucket["expected"] = [theirs[i].norm().item() for i in order]
            bucket["own"] = [gradients(alone)[i].norm().item() for i in order]
            written = norms.get(bucket["index"])
            if written is not None:
                bucket["written"] = [float(norm) for norm in written]
                bucket["types"] = sorted({type(norm).__name__ for norm in written})

    def samples(self):
        draw, cases = random.Random(self.seed), []
        given = [(10, 4, 0), (12, 4, 7), (3, 8, 1)]
        for length, world, seed in given + [
                (draw.randint(5, 60), draw.randint(2, 7), draw.randint(0, 99))
                for _ in range(4)]:
            for rank in {0, draw.randrange(world), world - 1}:
                with reference():
                    theirs = DistributedSampler(range(length), world, rank, seed=seed)
                mine = self.lab.Shard(length, rank, world, seed)
                case = {"length": length, "world": world, "rank": rank, "seed": seed,
                        "size": len(mine), "epochs": []}
                for epoch in (0, 1, 5):
                    if epoch:
                        theirs.set_epoch(epoch), mine.set_epoch(epoch)
                    with reference():
                        case["expected_size"], expected = len(theirs), list(theirs)
                    before, drawn = torch.get_rng_state(), list(mine)
                    case["epochs"].append({
                        "epoch": epoch, "expected": expected,
                        "types": sorted({type(i).__name__ for i in drawn}),
                        "got": [int(i) for i in drawn], "again": [int(i) for i in mine],
                        "apart": torch.equal(before, torch.get_rng_state())})
                cases.append(case)
        return {"cases": cases}

    def recorded(self):
        model, done = net(), []
        ddp = wrapped(model)
        ddp.register_comm_hook({}, self.lab.hook)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)

        def step():
            with record_function(f"training step {len(done)}"):
                optimizer.zero_grad()
                loss_of(ddp(images(self.rank, len(done)))).backward()
                optimizer.step()
                wait_for_works()
            done.append(True)

        folder = os.path.join(self.folder, "profile")
        warm_up = 2 + self.seed % 3
        self.lab.profile_step(step, warm_up, folder)
        dist.barrier()
        sizes = sum(p.numel() for p in model.parameters() if p.requires_grad)
        return {"steps": len(done), "warm_up": warm_up, "values": sizes,
                "files": sorted(os.listdir(folder))}

    def trained(self):
        """Two epochs of both ways, with the learner's samples."""
        data = torch.randn(20, WIDTH, generator=torch.Generator().manual_seed(9),
                           dtype=torch.float64)
        results = []
        for mine in (True, False):
            model = net()
            ddp = None if mine else wrapped(model)
            optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
            with reference():
                theirs = DistributedSampler(range(20), WORLD, self.rank, seed=4)
            shard = self.lab.Shard(20, self.rank, WORLD, 4) if mine else theirs
            for epoch in range(2):
                shard.set_epoch(epoch)
                with reference() if not mine else contextlib.nullcontext():
                    order = list(shard)
                lengths = [None] * WORLD
                dist.all_gather_object(lengths, len(order))
                if len(set(lengths)) > 1:
                    return {"error": 1.0}
                for row in order:
                    optimizer.zero_grad()
                    loss_of((model if mine else ddp)(data[row:row + 1])).backward()
                    if mine:
                        self.lab.average_gradients(model)
                    optimizer.step()
            results.append([p.detach() for p in model.parameters()])
        return difference(*results)

    def two_ranks(self):
        """Rank 0 and rank 1 alone."""
        dist.destroy_process_group()
        facts = {}
        if self.rank < 2:
            join(self.folder, "two", self.rank, 2)
            theirs, model = self.reference_gradients(), net()
            loss_of(model(images(self.rank))).backward()
            self.lab.average_gradients(model)
            facts = {"average": difference(gradients(model), theirs)}
            model = net()
            ddp = wrapped(model)
            ddp.register_comm_hook({}, self.lab.hook)
            loss_of(ddp(images(self.rank))).backward()
            facts["hook"] = difference(gradients(model), theirs)
            dist.barrier()
            dist.destroy_process_group()
        join(self.folder, "again", self.rank, WORLD)
        return {"error": 0.0, **facts}


PARTS = ("average", "hooked", "samples", "recorded", "trained", "two_ranks")


def line_in(path, error):
    """Where in the learner's file it happened; 0 if nowhere."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == path]
    return lines[-1] if lines else 0


def about(error, path):
    kind = ("skeleton" if isinstance(error, NotImplementedError) else
            "reference" if isinstance(error, Reference) else
            "too_long" if isinstance(error, TooLong) else "exception")
    text = str(error).strip().splitlines() or [""]
    lost = any(words in str(error) for words in
               ("Timed out", "timed out", "Connection closed", "Connection reset",
                "Broken pipe", "Application timeout"))
    return {"kind": "lost" if lost else kind, "type": type(error).__name__,
            "text": text[0], "line": line_in(path, error), "calls": len(calls)}


def stop(*_):
    raise TooLong(f"it has not ended within {PATIENCE} s")


def join(folder, name, rank, world):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store-{name}",
                            rank=rank, world_size=world, timeout=timedelta(seconds=6))


def run_rank(lab, path, folder, seed, rank, met):
    facts = {}
    join(folder, "all", rank, WORLD)
    me = Rank(lab, folder, seed, rank, met)
    signal.signal(signal.SIGALRM, stop)
    for part in PARTS:
        signal.alarm(PATIENCE)
        calls.clear(), works.clear()
        try:
            facts[part] = getattr(me, part)()
            dist.barrier()  # a rank may still be in another all-reduce
            worst = torch.tensor([facts[part].get("error", 0.0)])
            all_reduce(worst, op=dist.ReduceOp.MAX)
            if worst.item() > ROUNDING:
                break  # the tests end here, too
        except BaseException as error:  # also sys.exit: it is reported
            facts[part] = {"error": about(me.raised or error, path)}
            break
        finally:
            signal.alarm(0)
            with open(os.path.join(folder, f"facts-{rank}.json"), "w") as file:
                json.dump(facts, file)


def main():
    path, folder, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    os.makedirs(os.path.join(folder, "profile"), exist_ok=True)
    guard_references()
    note_calls()
    try:
        lab = load(path)
    except BaseException as error:
        with open(os.path.join(folder, "load.json"), "w") as file:
            json.dump(about(error, path), file)
        return
    context = multiprocessing.get_context("fork")
    met = context.Event(), context.Event(), context.Event()
    children = []
    for rank in range(WORLD):
        child = os.fork()
        if child == 0:
            try:
                run_rank(lab, path, folder, seed, rank, met)
                sys.stdout.flush()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
