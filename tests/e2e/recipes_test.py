"""Training recipes on the command line. Their results are compared with PyTorch's in
torch_training_test.py."""

import json
import os
import sys
import unittest

from support import NULL, TempTest, copies, read_trace, run, tensors_in

SMALL = ["train", *NULL, "-b", 8, "--length", 40]  # 5 batches


class Recipes(TempTest):
    def test_impossible_ones_are_refused(self):
        for wanted, words in (
                ("--device-type cuda", ["--amp"]),
                ("--clip-grad-norm", ["--clip-grad-norm", 0]),
                ("--norm-weight-decay", ["--norm-weight-decay", -1]),
                ("--lr-gamma", ["--lr-gamma", "nan"]),
                ("must be less than", ["--epochs", 3, "--warmup-epochs", 3]),
                ("--label-smoothing", ["--label-smoothing", 1.5]),
                ("--accumulate", ["--accumulate", 0]),
                ("--schedule", ["--schedule", "zigzag"]),
                ("mutually exclusive", ["--pretrained", "x"])):
            if "--pretrained" in words:
                words = [*words, "--resume", self.checkpoint()]
            _, error = run(*SMALL, "--steps", 1, *words, code=2)
            self.assertEqual(len(error.splitlines()), 1, error)
            self.assertIn(wanted, error)
        _, error = run("train", "-a", "toy", "--checkpoint", "x", code=2)
        self.assertIn("-a toy", error)

    def checkpoint(self):
        run(*SMALL, "--epochs", 1, "--checkpoint", self.path("c"))
        return self.path("c/checkpoint.safetensors")

    def test_the_average_of_the_weights_is_evaluated_and_resumed(self):
        words = ["train", "-a", "resnet20", "--dataset", "generated", "--image-size", 8,
                 "-b", 8, "--length", 40, "--device-type", "cpu", "-j", 1, "--ema", 0.5,
                 "--mode", "ddp", "--devices", 2]
        text, _ = run(*words, "--epochs", 2, "--save-ema", self.path("whole"),
                      "--save", self.path("weights"))
        self.assertEqual(text.count("\n * EMA Acc@1 "), 2)
        self.assertEqual(text.count("\n * Acc@1 "), 2)
        run(*words, "--epochs", 1, "--checkpoint", self.path("c"))
        saved = self.path("c/checkpoint.safetensors")
        run(*words, "--resume", saved, "--epochs", 2, "--save-ema", self.path("parts"))
        self.assertEqual(tensors_in(self.path("parts")), tensors_in(self.path("whole")))
        self.assertNotEqual(tensors_in(self.path("weights")),
                            tensors_in(self.path("whole")))
        # Each rank has averaged its own running statistics: rank 0's are evaluated.
        seen = []
        for more in (["--epochs", 1], ["--evaluate", "--resume", saved]):
            run(*words, *more, "--summary", self.path("s.json"))
            with open(self.path("s.json"), encoding="utf-8") as file:
                steps = [s["loss"] for s in json.load(file)["steps"]
                         if s["kind"] == "eval"]
            seen.append(steps)
        self.assertEqual(*seen)
        text, error = run(*words, "--epochs", 1, "--ema-steps", 99, "--save-ema",
                          self.path("none"))
        self.assertNotIn("EMA Acc", text)
        self.assertIn("no average before 99 optimizer steps; fix: ", error)
        self.assertFalse(os.path.exists(self.path("none")))
        run(*words[:-6], "--gpu", 0, "-e", "--pretrained", saved)  # the weights alone
        _, said = run(*words[:-6], "--mode", "ps", "--devices", 2, "--resume", saved,
                      "--epochs", 2, code=1)
        self.assertIn("--ema averages the weights", said)  # adopted, not given
        for flags, error in ((["--mode", "ps"], "--ema has no effect on --mode ps; "),
                             (["--ema", 1], "less than 1")):
            _, said = run(*words, *flags, code=2)
            self.assertIn(error, said)

    def test_only_a_groups_last_batch_is_synchronised(self):
        # 5 batches in groups of two: two groups of two and one of one.
        run(*SMALL, "--accumulate", 2, "--epochs", 1, "--mode", "ddp", "--devices", 2,
            "--trace", self.path("t.json"))
        run("trace", "check", self.path("t.json"))
        trace = read_trace(self.path("t.json"))
        for step in range(5):
            sums = copies(trace, "all_reduce", step)
            updates = [e for e in trace["traceEvents"] if e.get("name") == "optimizer"
                       and e["args"]["step"] == step]
            self.assertEqual(bool(updates), step in (1, 3, 4), step)
            self.assertEqual(bool(sums), step in (1, 3, 4), step)

    def test_the_last_group_ends_with_the_last_step(self):
        run(*SMALL, "--accumulate", 4, "--steps", 2, "--gpu", 0, "--trace",
            self.path("t.json"))
        events = read_trace(self.path("t.json"))["traceEvents"]
        self.assertEqual([e["args"]["step"] for e in events
                          if e.get("name") == "optimizer"], [1])

    def test_accumulation_in_data_parallel_obeys_the_laws(self):
        run(*SMALL, "--accumulate", 2, "--clip-grad-norm", 1, "--steps", 4, "--devices",
            3, "--trace", self.path("t.json"))
        run("trace", "check", self.path("t.json"))

    def test_nothing_is_written_unasked(self):
        text, _ = run(*SMALL, "--epochs", 1, cwd=self.folder)
        self.assertIn("=> no checkpoint is written; --checkpoint DIR", text)
        self.assertEqual(os.listdir(self.folder), [])
        self.checkpoint()
        with open(self.path("c/checkpoint.safetensors"), "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        state = json.loads(header["__metadata__"]["lockstep"])
        self.assertEqual((state["epoch"], state["recipe"]["--batch-size"]), (1, 8))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
