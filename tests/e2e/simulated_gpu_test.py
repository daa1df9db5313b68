"""--device-type cuda on a simulated GPU (tests/engine/backends/simulated_gpu.h), from
the command line to the trace. Its kernels are loops, so nets and batches are tiny."""

import os
import struct
import unittest
import zlib

from ranks import free_port
from support import LOCKSTEP, TempTest, content, read_trace, run

FOLDER = os.path.join(os.path.dirname(LOCKSTEP), "tests", "simulated")
CUDA = ["--device-type", "cuda", "--no-tf32"]
NET = ["train", "-a", "resnet20", "--dataset", "generated", "--lr", 0.001,
       "--no-shuffle", "--no-augment"]
def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


PNG = (b"\x89PNG\r\n\x1a\n" +  # 8 grey pixels by 8
       chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) +
       chunk(b"IDAT", zlib.compress(8 * (b"\0" + 24 * b"\x80"))) + chunk(b"IEND", b""))
TOY = ["train", "-a", "toy", "--dataset", "random", "-b", 12, "--steps", 3, *CUDA]


@unittest.skipUnless(os.path.exists(os.path.join(FOLDER, "liblockstep_cuda.so")),
                     "this build has no CUDA backend to stand in for")
class SimulatedGpu(TempTest):  # gate
    def run_there(self, *words, **options):
        return run(*words, LD_LIBRARY_PATH=FOLDER, **options)

    def losses(self, train, *flags):
        summary = self.path("s.json")
        train(*NET, "-b", 2, "--gpu", 0, *flags, "--steps", 2, "--summary", summary)
        return [step["loss"] for step in read_trace(summary)["steps"]]

    def traced(self, *words):
        """Records a trace and expects that `trace check` accepts it."""
        path = self.path("t.json")
        self.run_there(*words, "--trace", path)
        text, _ = run("trace", "check", path)
        self.assertTrue(text.endswith("every law holds\n"), text)
        run("trace", "summary", path)
        return read_trace(path)["traceEvents"]

    def test_doctor_finds_it(self):
        self.assertIn("--device-type cuda: simulated GPU", self.run_there("doctor")[0])

    def test_a_net_trains_as_on_plain_loops(self):
        mine = self.losses(self.run_there, *CUDA)
        truth = self.losses(run, "--device-type", "reference")
        self.assertEqual(len(mine), 2)
        for a, b in zip(mine, truth):
            self.assertAlmostEqual(a, b, delta=2e-4 * b)

    def test_traces_of_one_device_and_of_data_parallel(self):
        dp = ["--mode", "dp", "--devices"]
        graph = ["--input-on", "device0", "--cuda-graph"]
        for flags, library in ((["--gpu", 0], False), ([*dp, 2], False),
                               ([*dp, 3], True),  # each has a GPU
                               ([*dp, 3, *graph], False)):
            events = self.traced(*NET, *CUDA, "-b", 3, *flags, "--steps", 1)
            modelled = [e for e in events if e.get("args", {}).get("modelled")]
            self.assertEqual(bool(modelled), library, flags)

    def test_ranks_that_are_threads_pass_messages_in_the_gpus_memory(self):
        for words in ([*TOY, "--devices", 4],
                      [*NET, *CUDA, "-b", 2, "--devices", 2, "--steps", 1]):
            events = self.traced(*words, "--mode", "ddp")
            messages = [e for e in events if e.get("cat") == "copy"
                        and "ring_step" in e["args"]]
            self.assertTrue(messages)
            self.assertFalse([e for e in messages if e["args"].get("modelled")])

    def test_ranks_that_are_processes_say_where_messages_go(self):
        text, _ = self.run_there(
            *TOY, "--devices", 2, "--multiprocessing-distributed", "--dist-url",
            f"tcp://127.0.0.1:{free_port()}", "--world-size", 1, "--rank", 0, "--trace",
            self.path("t.json"))
        self.assertIn("using ring, through main memory", text)
        text, _ = run("trace", "check", self.path("t.json"))
        self.assertTrue(text.endswith("every law holds\n"), text)

    def test_stages_that_are_processes_train_as_threads_do(self):
        stages = [*NET, *CUDA, "--image-size", 8, "-b", 8, "--mode", "model-parallel",
                  "--split", "layer2,layer3", "--micro-batches", 4, "--steps", 1]
        losses = []
        for how in [], ["--multiprocessing-distributed"]:
            self.traced(*stages, *how, "--summary", self.path("s.json"))
            steps = read_trace(self.path("s.json"))["steps"]
            losses.append([step["loss"] for step in steps])
        self.assertEqual(*losses)

    def test_a_graph_gives_the_weights_of_single_launches(self):
        for way in (["--gpu", 0],
                    ["--mode", "dp", "--devices", 2, "--input-on", "device0"],
                    ["--mode", "ddp", "--devices", 3]):  # one GPU for each rank
            saved = []
            for flags in ([], ["--cuda-graph", "--prefetch-to-device"]):
                path = self.path(f"w{len(flags)}.safetensors")
                text, _ = self.run_there(*NET, *CUDA, "--image-size", 8, "-b", 6, *way,
                                         "--steps", 5, "--save", path, *flags)
                saved.append(content(path))
            self.assertEqual(saved[0], saved[1], way)
            replays = 3 if "ddp" in way else 4  # DDP warms up twice
            self.assertIn(f"=> steps replayed as a CUDA graph: {replays}\n", text)

    def test_a_rank_that_fails_ends_the_others(self):
        """They wait on their GPUs for its part of an all-reduce."""
        for i in range(12):
            folder = self.path(f"set/{'train' if i else 'val'}/c{i % 2}")
            os.makedirs(folder, exist_ok=True)
            with open(f"{folder}/{i:02}.png", "wb") as file:
                file.write(PNG if i != 9 else b"no picture")
        _, said = self.run_there("train", self.path("set"), *CUDA, "-a", "resnet20",
                                 "--image-size", 8, "-b", 3, "-j", 0, "--no-shuffle",
                                 "--mode", "ddp", "--devices", 3, code=1)
        self.assertIn("09.png", said)

    def test_steps_that_no_graph_can_repeat_are_refused(self):
        _, said = self.run_there(*NET, *CUDA, "--mode", "ddp", "--devices", 2,
                                 "--cuda-graph", code=1)
        self.assertIn("one GPU per rank", said)
        for flags, error in (
                (["--mode", "dp", "--devices", 2], "add --input-on device0"),
                (["--mode", "ddp", "--find-unused-parameters"], "find-unused"),
                (["--mode", "ddp", "--on-bad-image", "skip"], "--on-bad-image"),
                (["--mode", "ps"], "--mode ps"),
                (["--gpu", 0, "--summary", self.path("s.json")], "--summary"),
                (["--gpu", 0, "--launch-blocking"], "--launch-blocking")):
            _, said = self.run_there(*NET, *CUDA, *flags, "--cuda-graph", code=2)
            self.assertIn(error, said)


if __name__ == "__main__":
    unittest.main()
