#!/usr/bin/python3
"""Converts weights between PyTorch's files and lockstep's:

    convert_weights.py resnet18.pth resnet18.safetensors         for --pretrained
    convert_weights.py checkpoint.safetensors weights.pth        for load_state_dict
    convert_weights.py checkpoint.safetensors checkpoint.pth.tar for main.py --resume

A .pth (.pt, .tar) file is a state_dict, or a checkpoint of PyTorch's ImageNet example,
of which `state_dict` is used. DataParallel's `module.` and torch.compile's `_orig_mod.`
are removed from names. A lockstep checkpoint becomes one of the example, with epoch,
optimizer and StepLR, if the name ends in .tar, otherwise its weights. float16 and
bfloat16 become float32; other integers become int64. Needs torch (apt-get install
python3-torch). No code of a .pth file is executed: only tensors and plain Python values
are restored."""

import argparse
import collections
import io
import json
import os
import pathlib
import pickle
import sys
import zipfile

TYPES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
         "I64": "int64"}
STORAGES = {"FloatStorage": "float32", "DoubleStorage": "float64",
            "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
            "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16",
            "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool"}
LEGACY = 0x1950A86A20F9469CFC6C  # the first pickle of a file before PyTorch 1.6


class Refused(Exception):
    """One line that names the file and the error."""


def without_module(name):
    return ".".join(part for part in name.split(".")
                    if part not in ("module", "_orig_mod"))


class Inert:
    """Takes the place of every object that is neither a tensor nor a plain value, such
    as an argparse.Namespace: accepts what a pickle does to it, and does nothing."""

    def __new__(cls, *_, **__):
        return object.__new__(cls)

    def __setstate__(self, state):
        pass

    def __setitem__(self, key, value):
        pass

    def append(self, value):
        pass

    def extend(self, values):
        pass


class StorageType:
    def __init__(self, dtype):
        self.dtype = dtype


def rebuild_tensor(storage, offset, size, stride, *_):
    """A view of the storage, whose bytes may still have to be read."""
    return storage.as_strided(size, stride, offset)


def rebuild_parameter(data, *_):
    return data


class TensorUnpickler(pickle.Unpickler):
    """Executes no code of the file: of the functions that a pickle names, it calls only
    substitutes for those that make tensors. (torch.load of version 1.13 does not: its
    weights_only refuses floats, and otherwise it ignores `pickle_module`.)"""

    def __init__(self, file, read_storage):
        super().__init__(file, encoding="utf-8")
        self._read_storage = read_storage

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch._utils" and name.startswith("_rebuild_tensor"):
            if name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
                return rebuild_tensor
            raise Refused(f"a tensor of an unknown kind ({name})")
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return rebuild_parameter
        if (module, name) == ("torch", "Size"):
            return tuple
        if module == "torch" and name in STORAGES:
            return StorageType(STORAGES[name])
        return Inert

    def persistent_load(self, pid):
        if pid[0] == "module":
            return Inert
        kind, storage, key, _, count, *view = pid
        if kind != "storage" or not isinstance(storage, StorageType) or any(view):
            raise Refused("a storage of an unknown kind")
        return self._read_storage(storage.dtype, key, count)


def numbers(content, dtype):
    import torch

    dtype = getattr(torch, dtype)
    return torch.frombuffer(content, dtype=dtype) if content else torch.empty(
        0, dtype=dtype)


def bytes_of(dtype, count):
    import torch

    return count * torch.empty(0, dtype=getattr(torch, dtype)).element_size()


def read_zip(path):
    """Since PyTorch 1.6: an archive of data.pkl and data/KEY."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        folder = next((name[:-8] for name in names if name.endswith("data.pkl")), None)
        if folder is None:
            raise Refused("contains no data.pkl")
        if folder + "constants.pkl" in names:
            raise Refused("a TorchScript archive; save model.state_dict()")
        if folder + "byteorder" in names:
            if archive.read(folder + "byteorder") != b"little":
                raise Refused("written on a big-endian machine")
        storages = {}

        def read_storage(dtype, key, _):
            if key not in storages:
                content = bytearray(archive.read(f"{folder}data/{key}"))
                storages[key] = numbers(content, dtype)
            return storages[key]

        file = io.BytesIO(archive.read(folder + "data.pkl"))
        return TensorUnpickler(file, read_storage).load()


def read_legacy(path):
    """Before PyTorch 1.6: pickles of a magic number, the version, the system and the
    object, then the order of the storages, and the storages."""
    contents = {}

    def read_storage(dtype, key, count):
        if key not in contents:
            if count > os.path.getsize(path):
                raise Refused("a storage is larger than the file")
            content = bytearray(bytes_of(dtype, count))
            contents[key] = content, numbers(content, dtype)
        return contents[key][1]

    with open(path, "rb") as file:
        def load():
            return TensorUnpickler(file, read_storage).load()

        if load() != LEGACY or load() != 1001:
            raise Refused("neither a zip archive nor PyTorch's older format")
        if not load().get("little_endian", True):
            raise Refused("written on a big-endian machine")
        result = load()
        for key in load():
            file.read(8)  # the number of elements, known from the object
            if file.readinto(contents[key][0]) != len(contents[key][0]):
                raise Refused("truncated")
    return result


def read_pth(path):
    try:
        content = (read_zip if zipfile.is_zipfile(path) else read_legacy)(path)
    except (ImportError, FileNotFoundError):
        raise
    except Exception as error:  # a hostile file may raise anything
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise Refused(f"{path}: not a .pth file of tensors: {line}") from error
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict):
        raise Refused(f"{path}: contains no state_dict; save model.state_dict()")
    for name, value in content.items():
        if not hasattr(value, "is_floating_point"):
            raise Refused(f"{path}: '{name}' is not a tensor; save model.state_dict()")
    return {without_module(str(name)): value for name, value in content.items()}


def read_safetensors(path):
    """8 bytes of length, a JSON header, the numbers. Returns the weights, and of a
    checkpoint its facts and the tensors of its optimizer, else None and {}."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        size = int.from_bytes(content[:8], "little")
        header, data = json.loads(content[8:8 + size]), content[8 + size:]
        facts = header.pop("__metadata__", {}).get("lockstep")
        tensors, state = {}, {}
        for name, entry in header.items():
            if entry["dtype"] not in TYPES:
                raise Refused(f"{path}: '{name}' is {entry['dtype']}, not one of "
                              f"{', '.join(TYPES)}")
            values = bytearray(data[slice(*entry["data_offsets"])])
            tensor = numbers(values, TYPES[entry["dtype"]]).reshape(entry["shape"])
            if facts and name.startswith("average."):
                continue  # of --ema; --save-ema writes it as weights
            if facts and name.startswith("optimizer."):
                state[name.removeprefix("optimizer.")] = tensor
            else:
                tensors[without_module(name)] = tensor
        return tensors, json.loads(facts) if facts else None, state
    except (ValueError, KeyError, AttributeError, TypeError, RuntimeError) as error:
        raise Refused(f"{path}: not a safetensors file, or damaged: {error}") from error


def widened(name, tensor):
    """As one of the three types that lockstep reads."""
    import torch

    if tensor.is_quantized or tensor.is_sparse or tensor.is_complex():
        raise Refused(f"'{name}' is neither floats nor integers, one number after "
                      "another")
    if tensor.dtype in (torch.float32, torch.float64, torch.int64):
        return tensor
    return tensor.float() if tensor.is_floating_point() else tensor.long()


def write_safetensors(tensors, path):
    header, parts, offset = {"__metadata__": {"format": "pt"}}, [], 0
    names = {torchs: ours for ours, torchs in TYPES.items()}
    for name, tensor in tensors.items():
        values = widened(name, tensor.detach().cpu()).contiguous().numpy()
        parts.append(values.tobytes())
        header[name] = {"dtype": names[str(values.dtype)], "shape": list(values.shape),
                        "data_offsets": [offset, offset + len(parts[-1])]}
        offset += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))


def optimizer_of(recipe, parameters):
    """PyTorch's optimizer with the options of a lockstep recipe."""
    import torch

    lr, decay = recipe["--lr"], recipe["--weight-decay"]
    if recipe["--optimizer"] in ("adam", "adamw"):
        make = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
        return make[recipe["--optimizer"]](
            parameters, lr, (recipe["--beta1"], recipe["--beta2"]), recipe["--eps"],
            decay, recipe["--amsgrad"])
    if recipe["--optimizer"] == "rmsprop":
        return torch.optim.RMSprop(
            parameters, lr, recipe["--alpha"], recipe["--eps"], decay,
            recipe["--momentum"], recipe["--centered"])
    return torch.optim.SGD(parameters, lr, recipe["--momentum"], weight_decay=decay,
                           nesterov=recipe.get("--nesterov", False))


def as_main_py_saves(weights, facts, state, path):
    """What `save_checkpoint` of the example stores after an epoch."""
    import torch

    recipe = facts["recipe"]
    if facts["samples"]:
        raise Refused(f"{path}: saved within an epoch, which main.py cannot resume; "
                      "fix: convert a checkpoint of the end of one")
    others = {"--norm-weight-decay": None, "--bias-weight-decay": None,
              "--scale-lr": False, "--label-smoothing": 0, "--accumulate": 1,
              "--clip-grad-norm": None, "--schedule": "step", "--warmup-epochs": 0}
    for flag, usual in others.items():
        if recipe.get(flag, usual) != usual:
            raise Refused(f"{path}: main.py has no {flag} {recipe[flag]}; fix: convert "
                          "to .pth, for the weights")
    names = [name for name in weights if not name.endswith(
        (".running_mean", ".running_var", ".num_batches_tracked"))]
    optimizer = optimizer_of(recipe, [torch.nn.Parameter(weights[name])
                                      for name in names])
    result = {"epoch": facts["epoch"], "arch": facts["arch"], "state_dict": weights,
              "best_acc1": facts["best_acc1"]}
    plan = torch.optim.lr_scheduler.StepLR(
        optimizer, recipe["--lr-step-size"], recipe["--lr-gamma"])
    optimizer.step()  # without gradients: before plan.step(), which asks for it
    for _ in range(facts["epoch"]):
        plan.step()
    result["scheduler"] = plan.state_dict()
    result["optimizer"] = optimizer.state_dict()
    of_each = {}
    for part, tensor in state.items():
        part, _, name = part.partition(".")
        value = tensor.float() if part == "step" else tensor
        of_each.setdefault(names.index(name), {})[part] = value
    if recipe["--optimizer"] == "rmsprop":  # PyTorch counts the steps, and never looks
        for entry in of_each.values():
            entry["step"] = torch.tensor(0.0)
    result["optimizer"]["state"] = of_each
    return result


def write_pth(content, path):
    import torch

    torch.save(content, path)


def convert(source, target):
    """Returns the number of tensors, and what else was written."""
    reading, writing = (path.suffix == ".safetensors" for path in (source, target))
    if not reading and not writing:
        raise Refused("one of the two files must end in .safetensors")
    tensors, facts, state = (read_safetensors(source) if reading
                             else (read_pth(source), None, {}))
    content, more = tensors, ""
    if facts and target.suffix == ".tar":
        content = as_main_py_saves(tensors, facts, state, source)
        more = f", the optimizer's state, epoch {facts['epoch']}"
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        (write_safetensors if writing else write_pth)(content, temporary)
        os.replace(temporary, target)  # atomically
    finally:
        temporary.unlink(missing_ok=True)
    return len(tensors), more


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("target", type=pathlib.Path)
    files = parser.parse_args()
    try:
        count, more = convert(files.source, files.target)
    except ImportError as error:
        sys.exit(f"convert_weights: {error}; apt-get install python3-torch")
    except (Refused, OSError) as error:
        sys.exit(f"convert_weights: {error}")
    print(f"{files.target}: {count} tensors{more}")


if __name__ == "__main__":
    main()
