#!/usr/bin/python3
"""Converts weights between PyTorch's files and lockstep's:

    convert_weights.py resnet18.pth resnet18.safetensors     for --pretrained
    convert_weights.py checkpoint.safetensors weights.pth    for load_state_dict

A .pth (.pt, .tar) file is a state_dict, or a checkpoint of PyTorch's ImageNet example,
of which `state_dict` is used. DataParallel's `module.` is removed from names. Of a
lockstep checkpoint, only the weights are converted. Needs torch (apt-get install
python3-torch); the .pth file is read with weights_only, so it cannot execute code."""

import argparse
import json
import os
import pathlib
import sys

TYPES = {"F32": "float32", "F64": "float64", "I64": "int64"}


class Refused(Exception):
    """One line that names the file and the error."""


def without_module(name):
    return ".".join(part for part in name.split(".") if part != "module")


def read_pth(path):
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise Refused(f"{path}: not a .pth file of tensors: {line}") from error
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict):
        raise Refused(f"{path}: contains no state_dict")
    for name, value in content.items():
        if not isinstance(value, torch.Tensor):
            raise Refused(f"{path}: '{name}' is not a tensor; save model.state_dict()")
    return {without_module(name): value for name, value in content.items()}


def read_safetensors(path):
    """8 bytes of length, a JSON header, the numbers."""
    import numpy
    import torch

    with open(path, "rb") as file:
        content = file.read()
    try:
        size = int.from_bytes(content[:8], "little")
        header, data = json.loads(content[8:8 + size]), content[8 + size:]
        is_checkpoint = "lockstep" in header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            if is_checkpoint and name.startswith("optimizer."):
                continue
            begin, end = entry["data_offsets"]
            values = numpy.frombuffer(data[begin:end], TYPES[entry["dtype"]])
            values = values.reshape(entry["shape"]).copy()
            tensors[without_module(name)] = torch.from_numpy(values)
        return tensors
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Refused(f"{path}: not a safetensors file, or damaged: {error}") from error


def write_safetensors(tensors, path):
    header, parts, offset = {"__metadata__": {"format": "pt"}}, [], 0
    names = {numpy: ours for ours, numpy in TYPES.items()}
    for name, tensor in tensors.items():
        values = tensor.detach().cpu().contiguous().numpy()
        if str(values.dtype) not in names:
            raise Refused(f"'{name}' is {values.dtype}, not one of {', '.join(names)}")
        parts.append(values.tobytes())
        header[name] = {"dtype": names[str(values.dtype)], "shape": list(values.shape),
                        "data_offsets": [offset, offset + len(parts[-1])]}
        offset += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def write_pth(tensors, path):
    import torch

    torch.save(tensors, path)


def convert(source, target):
    reading, writing = (path.suffix == ".safetensors" for path in (source, target))
    if reading == writing:
        raise Refused("one of the two files must end in .safetensors")
    tensors = (read_safetensors if reading else read_pth)(source)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        (write_safetensors if writing else write_pth)(tensors, temporary)
        os.replace(temporary, target)  # atomically
    finally:
        temporary.unlink(missing_ok=True)
    return len(tensors)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    files = parser.parse_args()
    try:
        count = convert(files.source, files.target)
    except ImportError as error:
        sys.exit(f"convert_weights: {error}; apt-get install python3-torch")
    except (Refused, OSError) as error:
        sys.exit(f"convert_weights: {error}")
    print(f"{files.target}: {count} tensors")


if __name__ == "__main__":
    main()
