#!/usr/bin/python3
"""Writes tests/engine/data/pth/ with Debian's python3-torch: small files of torch.save,
and pth.json with the numbers in them as PyTorch reads them.

    tests/engine/data/make_pth_golden.py
"""
import argparse
import collections
import json
import pathlib
import zipfile

import torch

FOLDER = pathlib.Path(__file__).parent / "pth"
NAMES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}


def tensors():
    """Every type, and every way in which a tensor can lie in its storage."""
    torch.manual_seed(1)
    base = torch.arange(24.0).reshape(2, 3, 4)
    halves = [0.0, -0.0, 1.0, -2.5, 65504.0, 6.1e-5, 6e-8, -5.96e-8, float("inf")]
    return collections.OrderedDict([
        ("module.f32", torch.randn(3, 2)),
        ("f64", torch.randn(2, 2, dtype=torch.float64)),
        ("f16", torch.tensor(halves, dtype=torch.float16)),
        ("bf16", torch.randn(5).bfloat16()),
        ("i64", torch.tensor([1 << 40, -1])),
        ("i32", torch.tensor([-(1 << 31), 7], dtype=torch.int32)),
        ("i16", torch.tensor([-32768, 7], dtype=torch.int16)),
        ("i8", torch.tensor([-128, 127], dtype=torch.int8)),
        ("u8", torch.tensor([0, 255], dtype=torch.uint8)),
        ("bool", torch.tensor([True, False])),
        ("scalar", torch.tensor(3)),
        ("empty", torch.empty(0, 4)),
        ("parameter", torch.nn.Parameter(torch.randn(2))),
        ("whole", base),
        ("transposed", base.permute(2, 0, 1)),
        ("slice", base[1, 1:, ::2]),
        ("channels_last", torch.randn(1, 3, 2, 2).to(
            memory_format=torch.channels_last)),
    ])


def expected(state):
    result = {}
    for name, tensor in state.items():
        wide = tensor.detach()
        if wide.dtype not in NAMES:
            wide = wide.float() if wide.is_floating_point() else wide.long()
        numbers = [str(v) if v in (float("inf"),) else v
                   for v in wide.flatten().tolist()]
        result[name] = {"dtype": NAMES[wide.dtype], "shape": list(wide.shape),
                        "values": numbers}
    return result


def trained(optimizer_of=None, wrap=torch.nn.DataParallel):
    """What main.py saves after two epochs of a model with 2 outputs."""
    torch.manual_seed(2)
    net = torch.nn.Sequential(collections.OrderedDict(
        conv1=torch.nn.Conv2d(1, 2, 2, bias=False), bn1=torch.nn.BatchNorm2d(2),
        flat=torch.nn.Flatten(), fc=torch.nn.Linear(2, 2)))
    frozen = net.conv1.weight
    make = optimizer_of or (lambda p: torch.optim.SGD(p, 0.2, momentum=0.9,
                                                      weight_decay=1e-3))
    optimizer = make(net.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for _ in range(2):
        optimizer.zero_grad(set_to_none=True)
        net(torch.randn(3, 1, 2, 2)).pow(2).sum().backward()
        frozen.grad = None  # a parameter without a gradient has no momentum
        optimizer.step()
        schedule.step()
    return {"epoch": 2, "arch": "resnet18", "state_dict": wrap(net).state_dict(),
            "best_acc1": torch.tensor([37.5]), "optimizer": optimizer.state_dict(),
            "scheduler": schedule.state_dict()}


def save_as_others_do(saved):
    """The same weights as torch.compile, Lightning, torchvision's references, and
    averages of weights (EMA) name and place them."""
    plain = {name.removeprefix("module."): value
             for name, value in saved["state_dict"].items()}
    compiled = {f"module._orig_mod.{name}": value for name, value in plain.items()}
    averaged = {"n_averaged": torch.tensor(3),
                **{f"module.{name}": value for name, value in plain.items()}}
    torch.save(compiled, FOLDER / "compiled.pth")
    torch.save({"epoch": 2, "global_step": 9, "pytorch-lightning_version": "2.5.0",
                "state_dict": {f"model.{name}": v for name, v in plain.items()},
                "loops": {}, "optimizer_states": [], "lr_schedulers": []},
               FOLDER / "lightning.ckpt")
    torch.save({"model": plain, "optimizer": saved["optimizer"], "epoch": 2,
                "lr_scheduler": saved["scheduler"], "model_ema": averaged,
                "args": argparse.Namespace(lr=0.1)}, FOLDER / "references.pth")
    torch.save({"model_ema": averaged}, FOLDER / "averaged.pth")


def repack(source, target, method, **changes):
    """With unzip and zip: other compression and folder, and changed members."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", method) as new:
        for name in old.namelist():
            member = name.split("/", 1)[1]
            content = changes.get(member.replace(".", "_"), old.read(name))
            info = zipfile.ZipInfo("other/" + member)  # always the same time
            info.compress_type = method
            new.writestr(info, content)
        if "byteorder" in changes:
            new.writestr(zipfile.ZipInfo("other/byteorder"), changes["byteorder"])


def main():
    FOLDER.mkdir(exist_ok=True)
    state = tensors()
    torch.save(state, FOLDER / "types.pth")
    torch.save(state, FOLDER / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(dict(state), FOLDER / "protocol4.pth", pickle_protocol=4)
    repack(FOLDER / "types.pth", FOLDER / "deflated.pth", zipfile.ZIP_DEFLATED)
    repack(FOLDER / "types.pth", FOLDER / "big_endian.pth", zipfile.ZIP_DEFLATED,
           byteorder=b"big")

    saved = trained()
    torch.save(saved, FOLDER / "checkpoint.pth.tar")
    older = {key: value for key, value in saved.items() if key != "scheduler"}
    older["best_acc1"] = 37.5
    older["state_dict"] = {k: v for k, v in saved["state_dict"].items()
                           if not k.endswith("num_batches_tracked")}
    for group in older["optimizer"]["param_groups"]:
        del group["initial_lr"]
    torch.save(older, FOLDER / "older.pth.tar", _use_new_zipfile_serialization=False)
    adam = trained(torch.optim.Adam)
    torch.save(adam, FOLDER / "adam.pth.tar")
    adamw = trained(torch.optim.AdamW)
    torch.save(adamw, FOLDER / "adamw.pth.tar")
    for group in adamw["optimizer"]["param_groups"]:  # as PyTorch 2.7 and later
        group["decoupled_weight_decay"] = True
    torch.save(adamw, FOLDER / "adamw_2.7.pth.tar")
    torch.save(trained(torch.optim.Adagrad), FOLDER / "adagrad.pth.tar")
    torch.save(trained(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True)),
               FOLDER / "nesterov.pth.tar")
    torch.save({"args": argparse.Namespace(lr=0.1), **saved}, FOLDER / "args.pth.tar")
    save_as_others_do(saved)
    torch.save(torch.nn.Linear(1, 1), FOLDER / "module.pth")
    torch.save({"w": torch.ones(1).expand(1000)}, FOLDER / "expanded.pth")
    torch.save({"w": torch.ones(1), "n": 7}, FOLDER / "number.pth")

    names = [name for name, _ in trained(wrap=lambda n: n)["state_dict"].items()
             if not name.startswith("bn1.running") and "tracked" not in name]
    momentum = {names[index]: entry["momentum_buffer"]
                for index, entry in saved["optimizer"]["state"].items()
                if entry["momentum_buffer"] is not None}
    averages = {f"{part}.{names[index]}": entry[part]
                for index, entry in adam["optimizer"]["state"].items()
                for part in ("exp_avg", "exp_avg_sq")}
    text = json.dumps({"types": expected(state), "adam": expected(averages),
                       "state_dict": expected(saved["state_dict"]),
                       "momentum": expected(momentum)}, indent=1)
    (FOLDER / "pth.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
