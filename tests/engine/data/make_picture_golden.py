"""Generates pictures/ and pictures.json: small files of every kind in ImageNet and a
few others, and the results of PIL and torchvision for them and for the sample
photographs.

    LOCKSTEP_SHARED=../shared /usr/bin/python3 tests/engine/data/make_picture_golden.py

Uses Debian's python3-pil 9.4 and python3-torchvision 0.14. Pixels are stored as FNV-1a
hashes: ours must be bit-identical. Crops are torchvision's, with its random numbers
replaced by those of tests/golden/torch/philox.py.
"""

import io
import json
import os
import pathlib
import sys
import types

import numpy as np
import torch
import torchvision.transforms as T
import torchvision.transforms.transforms as torchvision_random
from PIL import Image

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "golden" / "torch"))
from make_golden import fnv_of_bytes  # noqa: E402
from philox import fnv1a64, uniform  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Draws:
    """The draws of engine/data/dataset.h, and the two torch functions that a crop
    calls."""

    def __init__(self, seed, epoch, index):
        stream = fnv1a64("sample") + epoch
        self.numbers = iter(uniform(stream, 64, start=index << 20, key=seed))

    def empty(self, _):
        return types.SimpleNamespace(uniform_=lambda low, high: torch.tensor(
            [float(low) + (float(high) - float(low)) * next(self.numbers)],
            dtype=torch.float64))

    def randint(self, low, high, size):
        return torch.tensor([low + int(next(self.numbers) * (high - low))])


def random_view(image, size, seed, epoch, index):
    draws = Draws(seed, epoch, index)
    real = torchvision_random.torch
    torchvision_random.torch = types.SimpleNamespace(
        log=torch.log, exp=torch.exp, empty=draws.empty, randint=draws.randint,
        tensor=lambda numbers: torch.tensor(numbers, dtype=torch.float64))
    try:
        crop = T.RandomResizedCrop(size)
        top, left, height, width = crop.get_params(image, crop.scale, crop.ratio)
    finally:
        torchvision_random.torch = real
    view = T.functional.resized_crop(image, top, left, height, width, (size, size))
    flip = bool(next(draws.numbers) < 0.5)
    return T.functional.hflip(view) if flip else view, [left, top, width, height, flip]


def center_view(image, size):
    return T.CenterCrop(size)(T.Resize(size * 256 // 224)(image))


def numbers(view):
    tensor = T.Normalize(MEAN, STD)(T.ToTensor()(view))
    return str(fnv_of_bytes(tensor.numpy().astype("<f4").tobytes()))


def describe(path, name, sizes, crops):
    image = Image.open(path).convert("RGB")
    row = {"file": name, "size": list(image.size),
           "pixels": str(fnv_of_bytes(image.tobytes())),
           "center": [[size, numbers(center_view(image, size))] for size in sizes],
           "random": []}
    for seed, epoch, index in crops:
        view, box = random_view(image, sizes[0], seed, epoch, index)
        row["random"].append([seed, epoch, index, box, numbers(view)])
    return row


def scene(width, height):
    """Gradients, edges and noise, so that every wrong pixel is detected."""
    y, x = np.mgrid[0:height, 0:width]
    noise = np.random.RandomState(width).randint(0, 40, (height, width, 3))
    red = 120 + 90 * np.sin(x / 7.0) + 30 * (y % 9 < 3)
    green = 255.0 * y / height
    blue = 200.0 * ((x // 11 + y // 13) % 2)
    return np.clip(np.stack([red, green, blue], 2) + noise - 20, 0, 255).astype(
        np.uint8)


def make_files(folder):
    rgb = Image.fromarray(scene(93, 71))
    exif = Image.Exif()
    exif[0x0112] = 6  # "rotate"; the decoders ignore it
    jpeg = {
        "444": {"subsampling": 0}, "422": {"subsampling": 1}, "420": {"subsampling": 2},
        "progressive": {"progressive": True, "subsampling": 2},
        "exif": {"exif": exif}, "coarse": {"quality": 5},
    }
    for name, options in jpeg.items():
        rgb.save(folder / f"{name}.jpeg", **{"quality": 85, **options})
    rgb.convert("L").save(folder / "grey.jpeg")
    rgb.convert("L").save(folder / "grey_progressive.jpeg", progressive=True)
    rgb.convert("CMYK").save(folder / "cmyk.jpeg")
    rgb.convert("CMYK").save(folder / "cmyk_progressive.jpeg", progressive=True)
    Image.fromarray(scene(41, 300)).save(folder / "tall.jpeg")
    Image.fromarray(scene(250, 17)).save(folder / "wide.jpeg")
    Image.fromarray(scene(3, 2)).save(folder / "tiny.jpeg")

    rgb = Image.fromarray(scene(61, 47))
    rgb.save(folder / "png.JPEG", format="PNG")
    rgb.quantize(17).save(folder / "palette.png")
    rgb.quantize(17).save(folder / "palette_clear.png", transparency=3)
    rgb.convert("L").save(folder / "grey.png")
    rgb.convert("1").save(folder / "bits.png")
    with_alpha = rgb.copy()
    with_alpha.putalpha(rgb.convert("L"))
    with_alpha.save(folder / "alpha.png")
    with_alpha.convert("LA").save(folder / "grey_alpha.png")
    truncated = io.BytesIO()
    rgb.save(truncated, "JPEG")
    (folder / "truncated.jpeg").write_bytes(truncated.getvalue()[:1000])


def shared_photographs():
    folder = pathlib.Path(os.environ.get("LOCKSTEP_SHARED", "../shared"))
    folder = folder / "data" / "imagenet-sample" / "train"
    return folder, sorted(folder.glob("*/*"))


if __name__ == "__main__":
    files = HERE / "pictures"
    files.mkdir(exist_ok=True)
    make_files(files)
    small = [describe(path, path.name, [32, 48], [(7, 0, i) for i in range(4)])
             for path in sorted(files.iterdir()) if path.name != "truncated.jpeg"]
    folder, found = shared_photographs()
    photographs = [describe(path, str(path.relative_to(folder)), [224],
                            [(0, 0, i), (5, 89, i)]) for i, path in enumerate(found)]
    tables = {"files": small, "photographs": photographs}
    with open(HERE / "pictures.json", "w", encoding="utf-8") as file:
        parts = (f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]"
                 for name, rows in tables.items())
        file.write("{\n" + ",\n".join(parts) + "\n}\n")
