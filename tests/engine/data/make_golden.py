"""Generates golden.json: draws, shuffles and pictures from numpy and torchvision.

    /usr/bin/python3 tests/engine/data/make_golden.py

The random numbers come from tests/golden/torch/philox.py, an implementation independent
of the C++ one. Pad, crop, flip, ToTensor and Normalize are torchvision's.
"""

import json
import math
import pathlib
import sys

import numpy as np
import torchvision.transforms.functional as F
from PIL import Image

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "golden" / "torch"))
from philox import fnv1a64, uniform  # noqa: E402

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
SAMPLES = [0, 5, 31, 500, 1023, 1024, 1500, 2047, 2048, 2600, 3071]
PICTURES = [(0, 0, 0), (0, 0, 1), (0, 1, 1), (7, 0, 1), (2**40 + 5, 90, 49999)]
PICTURES += [(3, 4, index) for index in range(30)]
SHUFFLES = [(0, 0, 10), (0, 1, 10), (1, 0, 10), (2**63 + 9, 200, 37)]


def fnv_of_bytes(raw):
    h = 0xCBF29CE484222325
    for byte in raw:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def draws(seed):
    u = uniform(fnv1a64("draws"), 8, key=seed)
    normal = []
    for first, second in zip(u[0::2], u[1::2]):
        radius = math.sqrt(-2 * math.log(first))
        normal.append(radius * math.cos(2 * math.pi * second))
        normal.append(radius * math.sin(2 * math.pi * second))
    return {"seed": seed, "uniform": list(u), "normal": normal}


def shuffle(seed, epoch, length):
    u = uniform(fnv1a64("shuffle") + epoch, length, key=seed)
    order = list(range(length))
    for last in range(length - 1, 0, -1):
        other = int(u[last] * (last + 1))
        order[last], order[other] = order[other], order[last]
    return {"seed": seed, "epoch": epoch, "order": order}


def picture(seed, epoch, index):
    u = uniform(fnv1a64("sample") + epoch, 3, start=index << 20, key=seed)
    top, left, flip = int(u[0] * 9), int(u[1] * 9), bool(u[2] < 0.5)
    i = np.arange(3072)
    bytes_ = ((i * 97 + i // 1024 * 31 + index * 7) % 256).astype(np.uint8)
    image = Image.fromarray(bytes_.reshape(3, 32, 32).transpose(1, 2, 0))
    image = F.crop(F.pad(image, 4), top, left, 32, 32)
    image = F.hflip(image) if flip else image
    out = F.normalize(F.to_tensor(image), MEAN, STD).numpy().reshape(-1)
    return {
        "seed": seed,
        "epoch": epoch,
        "index": index,
        "crop": [top, left, flip],
        "at": SAMPLES,
        "values": [float(out[i]) for i in SAMPLES],
        "fnv1a64": fnv_of_bytes(out.astype("<f4").tobytes()),
    }


def table(rows):
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"


if __name__ == "__main__":
    tables = {
        "draws": table([draws(0), draws(20261121)]),
        "shuffles": table([shuffle(*s) for s in SHUFFLES]),
        "pictures": table([picture(*p) for p in PICTURES]),
    }
    body = ",\n".join(f'"{name}": {rows}' for name, rows in tables.items())
    (HERE / "golden.json").write_text(f'{{"made_by": "make_golden.py",\n{body}}}\n')
