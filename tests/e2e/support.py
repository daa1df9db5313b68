"""Runs the program and reads its files; shared by the e2e tests."""

import gzip
import hashlib
import json
import os
import subprocess
import tempfile
import unittest

LOCKSTEP = os.environ["LOCKSTEP_BIN"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.pop("LOCKSTEP_PROGRAM", None)  # messages then contain `lockstep …`
# Other tests run at the same time: waiting threads must not occupy cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
NULL = ["--device-type", "null", "--dataset", "generated", "-j", "1"]
RECORD = 3073


def seeded(words):
    """Adds `--seed 0` to a `train` that would draw a seed, so that runs can be
    compared. A run that resumes has its checkpoint's."""
    words = list(map(str, words))
    if "train" not in words or {"--seed", "--resume"} & set(words):
        return words
    after = words.index("train") + 1
    return [*words[:after], "--seed", "0", *words[after:]]


def run(*words, code=0, cwd=None, draws_seed=False, **environment):
    """Runs lockstep without a display. Returns (stdout, stderr). Fails on any other
    exit code. `train` gets --seed 0 if it has none, unless `draws_seed`."""
    words = words if draws_seed else seeded(words)
    no_display = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
    done = subprocess.run([LOCKSTEP, *map(str, words)], capture_output=True,
                          text=True, cwd=cwd, timeout=600,
                          env={**os.environ, **no_display, **environment})
    if done.returncode != code:
        raise AssertionError(f"lockstep {' '.join(map(str, words))}: exit code "
                             f"{done.returncode}, not {code}\n{done.stderr}")
    return done.stdout, done.stderr


def read_trace(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def of_each_kind(trace):
    """Keeps only the first five events of each kind: validation is slow, and the schema
    treats all events of a kind in the same way."""
    kinds = {}
    for event in trace["traceEvents"]:
        keys = event["ph"], event.get("cat"), *event, *event.get("args", ())
        kinds.setdefault(keys, []).append(event)
    return {**trace, "traceEvents": [e for kind in kinds.values() for e in kind[:5]]}


def expect_schema(traces):
    """Expects that traces match tracer/format/schema.json. Skips without jsonschema."""
    try:
        import jsonschema
    except ImportError:
        raise unittest.SkipTest("python3-jsonschema is not installed") from None
    with open(ROOT + "/tracer/format/schema.json", encoding="utf-8") as file:
        validator = jsonschema.Draft4Validator(json.load(file))
    for trace in traces:
        validator.validate(of_each_kind(trace))


def copies(trace, why, step=None):
    return [e["args"] for e in trace["traceEvents"]
            if e.get("cat") == "copy" and e["args"]["why"] == why
            and step in (None, e["args"]["step"])]


def cifar_file(path, labels):
    with open(path, "wb") as file:
        for label in labels:
            file.write(bytes([label]) + bytes(RECORD - 1))


def content(path):
    with open(path, "rb") as file:
        return file.read()


def digest(data):
    """To compare files in tuples: unittest compares unequal ones line by line, which
    takes minutes."""
    return hashlib.sha256(data).hexdigest()


def tensors(folder):
    """The bytes of a checkpoint's tensors, after its header."""
    data = content(folder + "/checkpoint.safetensors")
    return data[8 + int.from_bytes(data[:8], "little"):]


def tensors_in(path):
    """Digests of the tensors of a safetensors file, by name."""
    data = content(path)
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    return {name: digest(data[begin + entry["data_offsets"][0]:
                              begin + entry["data_offsets"][1]])
            for name, entry in header.items()}


def accuracies(words, *more):
    """The lines of a run's output that tell the accuracy on the test images."""
    text, _ = run(*words, *more)
    return [line for line in text.splitlines() if line.startswith(" * Acc@1")]


class TempTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def cifar(self, records=64):
        """Creates a small set in CIFAR-10's format."""
        run("data", "make", self.path("set"), "--train", records, "--test", 32)
        return self.path("set")
