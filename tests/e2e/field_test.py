"""What people have and type: files, folders and variables from other programs."""

import json
import os
import shlex
import shutil
import struct
import unittest

from support import NULL, ROOT, TempTest, run

SMALL = ["-a", "resnet20", "--gpu", "0", "-j", "0"]


def renamed(path, target, name_of):
    """A copy of a safetensors file with other names."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    header = {key if key == "__metadata__" else name_of(key): value
              for key, value in header.items()}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Field(TempTest):
    def test_weights_of_wrapped_networks(self):
        data = ["--dataset", "generated", "--length", "32", "-b", "16"]
        weights = self.path("w.safetensors")
        run("train", *data, *SMALL, "--steps", "1", "--save", weights)

        def accuracy(path):
            out, _ = run("train", *data, *SMALL, "-e", "--pretrained", path)
            return [line for line in out.splitlines() if "Acc@1" in line][-1].split(
                "Loss")[-1]

        expected = accuracy(weights)
        for prefix in ("module.", "_orig_mod.", "module._orig_mod.", "model.",
                       "net._orig_mod."):
            other = self.path("other.safetensors")
            renamed(weights, other, lambda name, p=prefix: p + name)
            self.assertEqual(accuracy(other), expected, prefix)
        renamed(weights, other, lambda name: "a.b." + name)
        _, err = run("train", *data, *SMALL, "-e", "--pretrained", other, code=1)
        self.assertIn("has no tensor 'conv1.weight', but 'a.b.", err)

    def folders(self, *parts):
        for part in ("train", "val"):
            os.makedirs(self.path(os.path.join(*parts, part, "cat")))

    def test_image_folders_one_level_off(self):
        self.folders("w", "imagenet")
        for given in (self.path("w"), self.path("w/imagenet/train")):
            for options in ([], ["--image-size", "32", "--classes", "10"],
                            ["--dataset", "imagefolder"]):
                _, err = run("train", given, *SMALL, *options, code=1)
                self.assertIn(f"{given}: contains no train/ and val/, but "
                              f"{self.path('w/imagenet')} does; fix: train ", err)

    def test_hidden_folders_that_count_as_classes(self):
        picture = os.path.join(ROOT, "tests/engine/data/pictures/420.jpeg")
        for part in ("train", "val"):
            hidden = (".ipynb_checkpoints",) * (part == "train")
            for label in ("cat", "dog", *hidden):
                os.makedirs(self.path(f"set/{part}/{label}"))
                shutil.copy(picture, self.path(f"set/{part}/{label}/1.jpeg"))
        out, _ = run("train", self.path("set"), *SMALL, "--classes", "3", "-b", "2",
                     "--image-size", "32", "--steps", "1")
        self.assertIn("=> warning: hidden folders count as classes", out)
        self.assertIn(".ipynb_checkpoints; fix: remove them", out)

    def test_elastic_sizes(self):
        command = ["launch", "--nproc-per-node", "2", "train", *SMALL[:2], *NULL,
                   "--length", "16", "-b", "4", "--steps", "1"]
        run(*command, PET_NNODES="1:1")
        for value, why in (("1:2", "elastic sizes are not supported"), ("0", "range"),
                           ("x", "x")):
            _, err = run(*command, code=2, PET_NNODES=value)
            self.assertIn(why, err)
            self.assertIn(f"(PET_NNODES={value})", err)
        _, err = run("launch", "--nnodes", "1:2", *command[1:], code=2, PET_NNODES="3")
        self.assertNotIn("PET_NNODES", err)

    def test_printed_commands_can_be_typed(self):
        workspace = self.path("it's a space")
        run("lesson", "start", "0", "--workspace", workspace)
        with open(os.path.join(workspace, "00-first-trace", "answers.txt"),
                  encoding="utf-8") as file:
            line = next(line for line in file if "lockstep view" in line)
        words = shlex.split(line.lstrip("# "))
        self.assertEqual(words[:2], ["lockstep", "view"])
        self.assertTrue(os.path.isfile(words[2]), line)


if __name__ == "__main__":
    unittest.main()
