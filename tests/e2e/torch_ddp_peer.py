"""PyTorch's DistributedDataParallel on gloo, the counterpart of `lockstep train --mode
ddp`:

    torch_ddp_peer.py FOLDER WEIGHTS.safetensors RANKS BATCH STEPS LR

prints the losses as JSON, each the mean over all ranks. ResNet20 in float64 with
buckets of 1 MiB, on the first images of a folder in CIFAR-10's format, neither shuffled
nor augmented."""

import json
import os
import pathlib
import pickle
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden", "torch"))

import nets  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from ddp import be_rank  # noqa: E402
from torch.multiprocessing import start_processes  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
RECORD = 3073  # a label and 3 planes of 32x32


def read_weights(path):
    """Reads the tensors of a safetensors file: 8 bytes of length, a header, the
    data."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    types = {"F64": np.float64, "F32": np.float32, "I64": np.int64}
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = np.frombuffer(data[begin:end], types[entry["dtype"]])
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return tensors


def read_images(folder, count):
    """Normalizes in float32, like the loader, and then converts to float64."""
    content = b""
    for number in range(1, 6):
        name = os.path.join(folder, "cifar-10-batches-bin", f"data_batch_{number}.bin")
        with open(name, "rb") as file:
            content += file.read()
    records = np.frombuffer(content[:count * RECORD], np.uint8).reshape(count, RECORD)
    mean = np.array(MEAN, np.float32).reshape(1, 3, 1, 1)
    std = np.array(STD, np.float32).reshape(1, 3, 1, 1)
    pixels = records[:, 1:].reshape(count, 3, 32, 32).astype(np.float32)
    images = (pixels / np.float32(255) - mean) / std
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    return torch.from_numpy(images).double(), labels


def rank_trains(rank, world, folder, weights, batch, steps, lr):
    net = nets.resnet20().double().train()
    if rank == 0:  # the other ranks receive them from rank 0
        net.load_state_dict(read_weights(weights))
    ddp = DistributedDataParallel(net, bucket_cap_mb=1)
    optimizer = torch.optim.SGD(net.parameters(), lr, nets.SGD["momentum"],
                                weight_decay=nets.SGD["weight_decay"])
    images, labels = read_images(folder, batch * steps)
    images, labels = images[rank::world], labels[rank::world]  # DistributedSampler
    mine, losses = batch // world, []
    for step in range(steps):
        rows = slice(step * mine, (step + 1) * mine)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(ddp(images[rows]), labels[rows])
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / world)
    return losses


def main():
    folder, weights = sys.argv[1:3]
    ranks, batch, steps = map(int, sys.argv[3:6])
    words = folder, weights, batch, steps, float(sys.argv[6])
    with tempfile.TemporaryDirectory() as out:  # forked, not to import PyTorch again
        start_processes(be_rank, (ranks, out, rank_trains, words), ranks,
                        start_method="fork")
        results = [pickle.loads(pathlib.Path(out, f"result{rank}").read_bytes())
                   for rank in range(ranks)]
    assert all(losses == results[0] for losses in results)
    print(json.dumps(results[0]))


if __name__ == "__main__":
    main()
