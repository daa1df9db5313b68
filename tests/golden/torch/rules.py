"""The filling rules, the digest of a tensor, and the JSON writer (see ../README.md)."""

import json
import math

import numpy as np
import torch

from philox import KEY, fnv1a64, signed, uniform

SLICE = 1 << 22  # values per part of a large tensor


def values(name, shape):
    """Float64 values of a parameter or buffer, by its state-dict name and shape."""
    count = math.prod(shape)
    leaf = name.rsplit(".", 1)[-1]
    if leaf == "num_batches_tracked":
        return np.zeros(shape)
    if leaf == "running_var":
        return (1.0 + 0.5 * uniform(fnv1a64(name), count)).reshape(shape)
    v = signed(name, count)
    if leaf in ("bias", "running_mean"):
        v *= 0.1
    elif leaf == "weight" and len(shape) == 1:  # BatchNorm
        v *= 0.2
        v += 1.0
    elif leaf == "weight":  # convolution, linear
        v *= math.sqrt(6.0 / (count // shape[0]))
    else:
        raise ValueError(f"no rule for {name}")
    return v.reshape(shape)


def fill(module, dtype):
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            new = torch.from_numpy(values(name, tuple(tensor.shape)))
            tensor.copy_(new.to(dtype) if tensor.is_floating_point() else new)


def images(shape, dtype):
    data = signed("images", math.prod(shape)) * 1.7
    return torch.from_numpy(data.reshape(shape)).to(dtype)


def labels(batch, classes):
    return torch.from_numpy(
        np.floor(uniform(fnv1a64("labels"), batch) * classes).astype(np.int64)
    )


def flat64(tensor):
    return tensor.detach().contiguous().view(-1).double().numpy()


def digest(name, tensor):
    """[L2 norm, dot with the stream "dot:"+name, samples 0, n//3, n//2, n-1]."""
    a = flat64(tensor)
    n, squares, dot = len(a), 0.0, 0.0
    for first in range(0, n, SLICE):
        piece = a[first : first + SLICE]
        squares += float(np.dot(piece, piece))
        dot += float(np.dot(piece, signed("dot:" + name, len(piece), first)))
    samples = [float(a[i]) for i in (0, n // 3, n // 2, n - 1)]
    return [math.sqrt(squares), dot, *samples]


def provenance():
    return {
        "format": 1,
        "made_by": f"tests/golden/torch/make_goldens.py, PyTorch {torch.__version__}",
        "key": KEY,
    }


class Short(float):
    """A float printed with few digits: a tolerance or a distance, not a golden
    value."""

    digits = 3


def text(value, depth=0, width=88):
    """JSON with 17 digits; a list or object that fits is written on one line."""
    if isinstance(value, Short):
        return f"{value:.{value.digits}g}"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a golden file must hold finite numbers")
        return f"{value:.17g}"
    if not isinstance(value, (dict, list, tuple)) or not value:
        return json.dumps(value)
    pairs = isinstance(value, dict)
    items = value.items() if pairs else enumerate(value)
    parts = [
        (json.dumps(str(k)) + ":" if pairs else "") + text(v, depth + 1, width)
        for k, v in items
    ]
    start, end = "{}" if pairs else "[]"
    line = ",".join(parts)
    flat = pairs or not any(isinstance(v, (dict, list, tuple)) for v in value)
    if len(line) <= width or (flat and not pairs):
        if "\n" not in line:
            return start + line + end
    return start + "\n" + ",\n".join(parts) + "\n" + end


def write(path, content):
    body = text(content) + "\n"
    json.loads(body)
    path.write_text(body)
    print(f"{path.name}: {len(body):,} bytes", flush=True)
