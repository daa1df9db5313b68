"""ResNet and VGG in PyTorch with torchvision's names, for machines without torchvision;
reads weights of `lockstep train --save` and sets in CIFAR-10's format."""

import json
import struct

import torch
from torch import nn

MEAN = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
STD = torch.tensor([0.2470, 0.2435, 0.2616]).view(1, 3, 1, 1)


class Block(nn.Module):
    """torchvision's BasicBlock (expansion 1) or Bottleneck (4)."""

    def __init__(self, inputs, width, stride, expansion):
        super().__init__()
        shapes = ([(inputs, width, 3, stride), (width, width, 3, 1)] if expansion == 1
                  else [(inputs, width, 1, 1), (width, width, 3, stride),
                        (width, width * 4, 1, 1)])
        for i, (a, b, kernel, s) in enumerate(shapes, 1):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, s, kernel // 2,
                                                bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b))
        self.layers = len(shapes)
        self.downsample = None
        outputs = width * expansion
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.layers + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.layers:
                y = torch.relu_(y)
        return torch.relu_(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks, expansion, classes, cifar):
        super().__init__()
        kernel, stride = (3, 1) if cifar else (7, 2)
        self.conv1 = nn.Conv2d(3, 64, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.Identity() if cifar else nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for i, count in enumerate(blocks):
            width, layer = 64 << i, []
            for j in range(count):
                layer.append(Block(inputs, width, 2 if i and not j else 1, expansion))
                inputs = width * expansion
            setattr(self, f"layer{i + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.pool(torch.relu_(self.bn1(self.conv1(x))))
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
        return self.fc(x.mean((2, 3)))


class Vgg16(nn.Module):
    def __init__(self, classes):
        super().__init__()
        layers, inputs = [], 3
        for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0,
                      512, 512, 512, 0):
            if not width:
                layers.append(nn.MaxPool2d(2, 2))
                continue
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU(True)]
            inputs = width
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(),
            nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
            nn.Linear(4096, classes))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def make(arch, classes, size):
    if arch == "vgg16":
        return Vgg16(classes)
    blocks, expansion = {"resnet18": ((2, 2, 2, 2), 1),
                         "resnet50": ((3, 4, 6, 3), 4)}[arch]
    return ResNet(blocks, expansion, classes, cifar=size <= 64)


def read_weights(path):
    """safetensors: the header's length, a JSON header, the tensors' bytes."""
    types = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data[start:end], dtype=types[entry["dtype"]])
        tensors[name] = tensors[name].reshape(entry["shape"])
    return tensors


def read_cifar(folder, count):
    """The first training images, normalized like in the loader, and their labels."""
    raw, batches = b"", f"{folder}/cifar-10-batches-bin"
    for number in range(1, 6):
        with open(f"{batches}/data_batch_{number}.bin", "rb") as file:
            raw += file.read()
    raw = torch.frombuffer(bytearray(raw[:3073 * count]), dtype=torch.uint8)
    raw = raw.reshape(count, 3073)
    pixels = raw[:, 1:].reshape(count, 3, 32, 32).float()
    return ((pixels / 255 - MEAN) / STD).double(), raw[:, 0].long()
