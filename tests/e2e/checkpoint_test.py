"""Checkpoints: a resumed run is bit-identical to an uninterrupted one."""

import ctypes
import json
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import time
import unittest

from support import LOCKSTEP, TempTest, run

NEWEST, BEST = "checkpoint.safetensors", "model_best.safetensors"
SINGLE, DP, DDP = ["--gpu", 0], ["--mode", "dp"], ["--mode", "ddp"]
ONE_THREAD = ["--threads-per-device", 1]  # other tests run at the same time


def contents(path):
    """The header without checksums, and the tensors' bytes by name."""
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    state = json.loads(header.pop("__metadata__")["lockstep"])
    tensors = {name: data[slice(*entry["data_offsets"])]
               for name, entry in header.items()}
    return state, tensors


class CheckpointTest(TempTest):
    NET = "resnet20"

    def train(self, folder, *words, code=0, **more):
        """Trains epochs of 2 batches and an evaluation, with all sources of
        randomness."""
        if not os.path.exists(self.path("set")):
            run("data", "make", self.path("set"), "--train", 20, "--test", 8)
        return run("train", self.path("set"), "-a", self.NET, "-b", 12, "--lr", 0.01,
                   "--deterministic", "-j", 1, "--seed", 5, "--checkpoint",
                   self.path(folder), *words, code=code, **more)

    def newest(self, folder):
        return os.path.join(self.path(folder), NEWEST)

    def expect_same(self, a, b):
        (state, tensors), (other_state, other_tensors) = contents(a), contents(b)
        self.assertEqual(tensors.keys(), other_tensors.keys())
        different = [n for n in tensors if tensors[n] != other_tensors[n]]
        self.assertEqual(different, [])
        for key in ("epoch", "best_acc1", "dropout_calls", "ready_order"):
            self.assertEqual(state[key], other_state[key], key)

    def goes_on(self, *mode, epochs=3):
        """Compares an uninterrupted run with a run that is resumed after its first
        epoch."""
        shape = ["--schedule", "cosine", "--warmup-epochs", 1]
        self.train("whole", "--epochs", epochs, *mode, *shape)
        self.train("parts", "--epochs", epochs, *mode, *shape, "--steps", 4)
        self.assertEqual(contents(self.newest("parts"))[0]["epoch"], 1)
        # The recipe is in the checkpoint: its options need not be repeated.
        text, _ = run("train", self.path("set"), *mode, "--deterministic", "-j", 1,
                      "--resume", self.newest("parts"), "--checkpoint",
                      self.path("parts"))
        self.assertIn(f"=> loaded checkpoint '{self.newest('parts')}' (epoch 1)\n",
                      text)
        self.assertIn("Epoch: [1][0/2]", text)
        self.assertNotIn("Epoch: [0]", text)
        self.assertNotIn("options that differ from the checkpoint", text)
        self.expect_same(self.newest("whole"), self.newest("parts"))


class Checkpoints(CheckpointTest):  # gate first 30_minutes
    def test_single(self):
        self.goes_on(*SINGLE)

    def test_dp(self):
        self.goes_on(*DP, "--devices", 3)

    def test_ddp(self):  # three ranks: the order of the buckets affects the sums
        self.goes_on(*DDP, "--devices", 3)

    def test_ddp_in_processes(self):
        self.goes_on("--multiprocessing-distributed", "--world-size", 1, "--rank", 0,
                     "--devices", 2)

    def test_in_the_middle_of_an_epoch(self):
        for mode in ([*SINGLE, *ONE_THREAD], [*DP, "--devices", 3],
                     [*DDP, "--devices", 3]):
            whole, parts = f"whole-{mode[1]}", f"parts-{mode[1]}"
            self.train(whole, "--epochs", 1, *mode)
            every = ["--epochs", 1, "--checkpoint-steps", 1, "--resume", "auto"]
            self.train(parts, *every, *mode, "--steps", 1)
            self.assertEqual(contents(self.newest(parts))[0]["samples"], 12)
            text, _ = self.train(parts, *every, *mode)
            self.assertIn("Epoch: [0][1/2]", text)
            self.assertNotIn("Epoch: [0][0/2]", text)
            self.expect_same(self.newest(whole), self.newest(parts))

    def test_adam(self):
        adam = ["--optimizer", "adam", "--amsgrad", "--weight-decay", 0.01]
        self.train("whole", "--epochs", 2, *SINGLE, *adam)
        self.train("parts", "--epochs", 2, *SINGLE, *adam, "--steps", 4)
        resume = ["train", self.path("set"), *SINGLE, "--deterministic", "-j", 1,
                  "--resume", self.newest("parts"), "--checkpoint", self.path("parts")]
        run(*resume)
        self.expect_same(self.newest("whole"), self.newest("parts"))
        state, tensors = contents(self.newest("whole"))
        self.assertEqual(state["recipe"]["--optimizer"], "adam")
        self.assertEqual(tensors["optimizer.step.fc.bias"], struct.pack("<q", 4))
        for other in ("sgd", "rmsprop"):
            _, error = run(*resume, "--optimizer", other, "--epochs", 3, code=1)
            self.assertIn("has the state of another optimizer ('optimizer.exp_avg.",
                          error)

    def test_a_diverged_model_is_never_kept(self):
        self.train("c", "--epochs", 1, *SINGLE)
        newest = self.newest("c")
        with open(newest, "rb") as file:
            finite = file.read()
        text, error = self.train("c", "--epochs", 2, "--resume", newest, *SINGLE,
                                 "--lr", "1e30")
        self.assertIn("Loss nan", text)
        self.assertIn(" * Acc@1 0.000 Acc@5 0.000", text)
        self.assertEqual(error.count("the loss of training step 1 is nan"), 1)
        self.assertIn("no checkpoint is written; the last finite one is", error)
        with open(newest, "rb") as file:
            self.assertEqual(file.read(), finite)

    def test_moves_between_modes_and_devices(self):
        self.train("from", "--epochs", 1, *SINGLE)
        start = contents(self.newest("from"))[1]
        for mode in (SINGLE, [*DP, "--devices", 2], [*DDP, "--devices", 3]):
            # No step in between: the weights written are the weights read.
            text, _ = self.train("to", "--epochs", 1, *mode, "--resume",
                                 self.newest("from"), "--save", self.path("w"))
            self.assertIn("all 1 epochs are done", text)
            with open(self.path("w"), "rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                header, data = json.loads(file.read(size)), file.read()
            header.pop("__metadata__")
            for name, entry in header.items():
                self.assertEqual(data[slice(*entry["data_offsets"])], start[name])
            self.assertEqual(len(header), 128)
        # Continues on different numbers of devices, including momentum.
        self.train("dp", "--epochs", 2, *DP, "--devices", 4, "--resume",
                   self.newest("from"))
        self.train("ddp", "--epochs", 3, *DDP, "--devices", 2, "--resume",
                   self.newest("dp"))
        self.train("single", "--epochs", 4, *SINGLE, "--resume", self.newest("ddp"))
        self.assertEqual(contents(self.newest("single"))[0]["epoch"], 4)
        self.assertEqual(sum(n.startswith("optimizer.") for n in
                             contents(self.newest("single"))[1]), 65)

    def test_best_evaluate_and_pretrained(self):
        text, _ = self.train("c", "--epochs", 2, *SINGLE)
        self.assertEqual(sorted(os.listdir(self.path("c"))), [NEWEST, BEST])
        self.assertRegex(text, r"\n=> epoch 0: \d+\.\d training images/s, about "
                               r"\d+:\d\d:\d\d left for 1 epoch\n")
        self.assertRegex(text, r"\n=> epoch 1: \d+\.\d training images/s\n")
        accuracies = [line.split()[2] for line in text.splitlines()
                      if line.startswith(" * Acc@1")]
        best = contents(os.path.join(self.path("c"), BEST))[0]
        self.assertEqual(f"{best['best_acc1']:.3f}", max(accuracies, key=float))
        again, _ = run("train", self.path("set"), "-e", "--gpu", 0, "--resume",
                       self.newest("c"))
        self.assertIn(f" * Acc@1 {accuracies[1]} Acc@5", again)
        again, _ = run("train", self.path("set"), "-e", "--gpu", 0, "-b", 12, "-a",
                       self.NET, "--pretrained", self.newest("c"))
        self.assertIn(f" * Acc@1 {accuracies[1]} Acc@5", again)
        text, _ = self.train("d", "--epochs", 1, *SINGLE, "--momentum", 0.5,
                             "--resume", self.newest("c"))
        self.assertIn("=> options that differ from the checkpoint: --epochs 1 (was 2), "
                      "--momentum 0.5 (was 0.9)\n", text)

    def test_files_that_cannot_be_resumed(self):
        self.train("c", "--epochs", 1, *SINGLE)
        with open(self.newest("c"), "rb") as file:
            good = file.read()
        weights, bad = self.path("w.safetensors"), self.path("bad.safetensors")
        run("train", self.path("set"), *SINGLE, "--steps", 0, "--save", weights)

        def refused(path, *parts, words=()):
            text, error = self.train("x", *SINGLE, "--epochs", 9, "--resume", path,
                                     *words, code=1)
            self.assertEqual(len(error.splitlines()), 1, error)
            for part in parts:
                self.assertIn(part, error)
            self.assertNotIn("Epoch: [", text)

        def damaged(content, *parts):
            with open(bad, "wb") as file:
                file.write(content)
            refused(bad, bad, *parts)

        refused(self.path("none"), "No such file")
        for start, problem in ((b"PK\x03\x04\0\0\x08\x08", "is truncated: a zip"),
                               (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
                                "its pickle has the instruction 0x00")):
            damaged(start + bytes(100), problem, "; fix: copy or save it again")
            _, error = run("train", self.path("set"), "--pretrained", bad, code=1)
            self.assertIn(problem, error)
        refused(weights, "contains weights", "--pretrained")
        damaged(good[:-5], "truncated", "tensor")
        damaged(good[:1000], "header")
        damaged(b"", "is empty; fix: ")
        damaged(good[:-5] + bytes([good[-5] ^ 1]) + good[-4:],
                "tensor 'optimizer.momentum_buffer.fc.bias' is damaged",
                "resume from another")
        damaged(good.replace(b'\\"epoch\\":1', b'\\"epoch\\":x'), "damaged header")
        for old, new in ((b'epoch\\":1', b'epoch\\":7'),
                         (b'--lr\\":0.01', b'--lr\\":0.02')):
            self.assertEqual(good.count(old), 1)
            damaged(good.replace(old, new), "edited or damaged header")
        refused(self.newest("c"), "checkpoint of resnet20", "-a resnet20",
                words=["-a", "resnet34"])
        refused(self.newest("c"), "'conv1.weight'", "--stem",
                words=["--stem", "imagenet"])

    def test_a_folder_in_use_and_one_that_cannot_be(self):
        _, error = self.train("set/cifar-10-batches-bin/test_batch.bin", *SINGLE,
                              "--epochs", 1, code=1)
        self.assertIn("cannot be created", error)

    def test_a_read_only_folder_is_noticed_first(self):
        self.train("c", "--epochs", 1, *SINGLE)

        def as_a_user():  # root may write anywhere, unless it gives that up
            if os.geteuid() == 0:
                capbset_drop, dac_override = 24, 1
                assert ctypes.CDLL(None).prctl(capbset_drop, dac_override) == 0

        os.chmod(self.path("c"), 0o555)
        self.addCleanup(os.chmod, self.path("c"), 0o755)
        for folder, wanted in (("c", "cannot be written (Permission denied)"),
                               ("c/new/er", "cannot be created")):
            done = subprocess.run(
                [LOCKSTEP, "train", self.path("set"), "--gpu", "0", "--epochs", "1",
                 "--checkpoint", self.path(folder)],
                preexec_fn=as_a_user, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 1)
            self.assertIn(wanted, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("; fix: ", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_a_drawn_seed_is_that_of_the_resumed_run(self):
        seeds = []
        run("data", "make", self.path("set"), "--train", 20, "--test", 8)
        for words in (["--epochs", 1, "--checkpoint", self.path("c")],
                      ["--epochs", 2, "--resume", self.newest("c")]):
            run("train", self.path("set"), "--device-type", "null", "-b", 12, *words,
                "--summary", self.path("s.json"), draws_seed=True)
            with open(self.path("s.json"), encoding="utf-8") as file:
                seeds.append(json.load(file)["seed"])
        self.assertEqual(seeds[0], seeds[1])

    def test_a_full_disk_loses_nothing(self):
        self.train("c", "--epochs", 1, *SINGLE)
        before = contents(self.newest("c"))

        def small_files():  # what a full disk does, for this process alone
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        done = subprocess.run(
            [LOCKSTEP, "train", self.path("set"), "--gpu", "0", "--resume",
             self.newest("c"), "--epochs", "3", "--checkpoint", self.path("c")],
            preexec_fn=small_files, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be written", done.stderr)
        self.assertIn("Epoch: [2]", done.stdout)  # training continued
        self.assertEqual(contents(self.newest("c")), before)
        self.assertEqual([n for n in os.listdir(self.path("c")) if "tmp" in n], [])


class Dropout(CheckpointTest):  # gate first
    """AlexNet's dropout masks. Its checkpoints have 0.5 GB: one is written, none is
    compared."""
    IMAGES = ["--dataset", "generated", "--image-size", 64, "--length", 8]

    def losses(self, *words):
        run("train", *self.IMAGES, "--deterministic", "-j", 1, *words, "--summary",
            self.path("s.json"))
        with open(self.path("s.json"), encoding="utf-8") as file:
            return [step["loss"] for step in json.load(file)["steps"]]

    def masks_go_on(self, *mode):
        """The second epoch's first loss equals that of an uninterrupted run."""
        shape = ["-a", "alexnet", "-b", 4, "--lr", 0.01, "--seed", 5, "--epochs", 2]
        # Two batches, the evaluation, a batch: the checkpoint is that of the first
        # epoch.
        whole = self.losses(*shape, *mode, "--steps", 4, "--checkpoint", self.path("c"))
        rest = self.losses(*mode, "--steps", 1, "--resume", self.newest("c"))
        self.assertEqual(len(whole), 4)
        self.assertEqual(rest, whole[3:])

    def test_single(self):
        self.masks_go_on(*SINGLE, *ONE_THREAD)

    def test_dp(self):
        self.masks_go_on(*DP, "--devices", 2)

    def test_ddp(self):
        self.masks_go_on(*DDP, "--devices", 2)


class KilledWriting(CheckpointTest):  # gate first
    NET = "resnet18"  # writing its checkpoint takes long enough

    def size_of_temporary(self):
        """The size of the checkpoint that is being written; -1 if there is none."""
        for name in os.listdir(self.path("c")):
            if name.endswith(".tmp"):
                try:
                    return os.path.getsize(os.path.join(self.path("c"), name))
                except FileNotFoundError:  # it is complete and has been renamed
                    pass
        return -1

    def killed(self, words, evaluations, enough):
        """Kills the process after this many evaluations, when `enough` bytes of a file
        are on disk under its temporary name. Returns the printed lines."""
        lines = []
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                lines.append(line)
                evaluations -= line.startswith(" * Acc@1")
                if evaluations == 0:
                    break
            while process.poll() is None and self.size_of_temporary() < enough:
                time.sleep(0.0005)  # leaves the processor to it
            process.kill()
        self.assertEqual(process.returncode, -signal.SIGKILL, "".join(lines))
        return "".join(lines)

    def epoch_of_whole_file(self, name):
        with open(os.path.join(self.path("c"), name), "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            header = json.loads(file.read(size))
            state = json.loads(header.pop("__metadata__")["lockstep"])
            data = max(entry["data_offsets"][1] for entry in header.values())
            self.assertEqual(os.path.getsize(file.name), 8 + size + data)
        return state["epoch"]

    def test_a_whole_checkpoint_is_always_there(self):
        run("data", "make", self.path("set"), "--train", 6, "--test", 20)
        self.train("c", "--stem", "imagenet", "--epochs", 1, *SINGLE, *ONE_THREAD)
        whole = os.path.getsize(self.newest("c"))
        words = [LOCKSTEP, "train", self.path("set"), *map(str, SINGLE + ONE_THREAD),
                 "-j", "1", "--resume", self.newest("c"), "--checkpoint",
                 self.path("c"), "--epochs"]
        moments, epochs, written = random.Random(20), [1], []
        for _ in range(20):
            # Values above 1 are capped to the whole file, to hit syncing and renaming,
            # too.
            enough = min(whole, int(moments.uniform(0, 1.1) * whole))
            text = self.killed([*words, str(epochs[-1] + 100)],
                               moments.choice((1, 1, 1, 2)), enough)
            # Loading also verifies the checksums of all tensors.
            self.assertIn(f"=> loaded checkpoint '{self.newest('c')}' "
                          f"(epoch {epochs[-1]})\n", text)
            left = [name for name in os.listdir(self.path("c")) if ".tmp" in name]
            sizes = [os.path.getsize(os.path.join(self.path("c"), n)) for n in left]
            written += [round(size / whole, 2) for size in sizes]
            self.epoch_of_whole_file(BEST)
            epochs.append(self.epoch_of_whole_file(NEWEST))
        self.assertEqual(epochs, sorted(epochs))
        print(f"killed 20 times, {len(written)} of them while writing, with these "
              f"parts of a file written: {sorted(written)}; epochs {epochs}")
        self.assertGreaterEqual(len(written), 12)
        text, _ = self.train("c", "--resume", self.newest("c"), *SINGLE, *ONE_THREAD,
                             "--epochs", epochs[-1] + 1)
        self.assertIn(f"Epoch: [{epochs[-1]}][", text)
        self.assertEqual(sorted(os.listdir(self.path("c"))), [NEWEST, BEST])
        run("train", self.path("set"), "-e", *SINGLE, "--resume",
            os.path.join(self.path("c"), BEST))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
