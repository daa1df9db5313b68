"""Traces for the tools of torch.profiler, and traces of torch.profiler."""

import glob
import gzip
import json
import os
import re
import sys
import unittest

import hta
from support import ROOT, TempTest, expect_schema, of_each_kind, read_trace, run

SHARED = os.environ.get("LOCKSTEP_SHARED", "")
TRACES = os.path.join(SHARED, "traces") if SHARED else ""
# HTA's results are in traces/oracle/hta_<name>.json; the names are those of the traces.
ORACLES = ["param_dlrm_8rank", "resnet_ddp_ns_resolution_rank0",
           "rank0_of_16_queue_length", "tb_resnet50_nw0_span1", "tl_resnet18_1gpu",
           "large_216k_events_rank1_of_2"]


def base_time(path):
    """The base time of a profiler's file; the rest of the file is not parsed."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        found = re.search(rb'"baseTimeNanoseconds": *(\d+)', file.read())
    return int(found[1]) if found else 0


class Kineto(TempTest):  # first
    def test_export_gives_the_figures_of_summary(self):
        trace, folder = self.path("t.json.gz"), self.path("out")
        run("train", "--dataset", "generated", "--length", 16, "-a", "resnet18",
            "--mode", "ddp", "--devices", 2, "-b", 4, "-j", 1, "--steps", 3, "--trace",
            trace)
        run("trace", "export", "--kineto", "--gzip", trace, "-o", folder)
        summary = json.loads(run("trace", "summary", "--json", trace)[0])["train"]
        self.assertEqual(sorted(os.listdir(folder)),
                         ["rank-0.pt.trace.json.gz", "rank-1.pt.trace.json.gz"])
        for rank in range(2):
            rows = hta.rows_of_kineto(
                read_trace(os.path.join(folder, f"rank-{rank}.pt.trace.json.gz")), True)
            steps = summary["steps"]
            computing = sum(step["computing"][str(rank)] for step in steps)
            figures = hta.temporal_breakdown(rows)
            self.assertAlmostEqual(figures["compute"] * 1e-6, computing, delta=1e-6)
            mine = [call for step in steps for call in step["collectives"]
                    if call["rank"] == rank]
            comm, hidden = hta.overlap(rows)
            self.assertGreater(len(mine), 10)
            self.assertAlmostEqual(comm * 1e-6, sum(c["seconds"] for c in mine),
                                   delta=1e-6)
            self.assertAlmostEqual(
                (comm - hidden) * 1e-6, sum(c["exposed"] for c in mine), delta=1e-6)

    def test_there_and_back(self):
        run("trace", "export", "--kineto", ROOT + "/tests/golden/minimal_ddp.json",
            "-o", self.path("out"))
        for rank in range(2):
            back = self.path(f"{rank}.json")
            run("trace", "import", self.path(f"out/rank-{rank}.pt.trace.json"),
                "-o", back)
            verdict = json.loads(run("trace", "check", "--json", back)[0])
            self.assertTrue(verdict["ok"])
            unjudged = [law["law"] for law in verdict["laws"]
                        if law.get("judged") is False]
            self.assertIn("sources-present", unjudged)
            self.assertIn("not judged", run("trace", "check", back)[0])
        run("trace", "merge", self.path("0.json"), self.path("1.json"), "-o",
            self.path("both.json"))
        expect_schema(read_trace(self.path(f"{rank}.json")) for rank in range(2))

    def test_imports_have_the_numbers_of_hta(self):
        if not os.path.isdir(TRACES):
            if os.environ.get("CI") == "true":
                self.fail("CI needs LOCKSTEP_SHARED=folder with traces/")
            self.skipTest("LOCKSTEP_SHARED names no folder with traces/")
        imports = []
        for name in ORACLES:
            with open(f"{TRACES}/oracle/hta_{name}.json", encoding="utf-8") as file:
                oracle = json.load(file)
            expected = {row["rank"]: row for row in oracle["temporal_breakdown"]}
            overlaps = {row["rank"]: row["comp_comm_overlap_pctg"]
                        for row in oracle["comm_comp_overlap"]}
            for rank, file in oracle["files"].items():
                out = self.path("i.json.gz")
                run("trace", "import", f"{TRACES}/{file}", "-o", out)
                run("trace", "check", out)
                base = base_time(f"{TRACES}/{file}")
                trace = read_trace(out)
                self.compare(hta.rows_of_import(trace, base), oracle,
                             expected[int(rank)], overlaps.get(int(rank)), file)
                imports.append(of_each_kind(trace))
        self.assertEqual(len(imports), 13)
        expect_schema(imports)

    def compare(self, rows, oracle, expected, overlap, name):
        if not oracle["include_last_profiler_step"]:
            rows = hta.without_last_step(rows)
        figures = hta.temporal_breakdown(rows)
        for ours, theirs in (("idle", "idle_time(us)"), ("compute", "compute_time(us)"),
                             ("non_compute", "non_compute_time(us)"),
                             ("kernel", "kernel_time(us)")):
            self.assertEqual(figures[ours], expected[theirs], f"{name}: {ours}")
        comm, hidden = hta.overlap(rows)
        if overlap is None:
            self.assertEqual(comm, 0, name)
        else:
            self.assertAlmostEqual(100 * hidden / comm, overlap, delta=0.00501,
                                   msg=name)

    def test_a_profilers_file_needs_no_import(self):
        raw = ROOT + "/tests/golden/torch_profiler.json"
        summary = json.loads(run("trace", "summary", "--json", raw)[0])
        self.assertEqual(summary["devices"], 1)
        self.assertEqual(summary["recording"][0]["kernels"], 1)
        self.assertTrue(json.loads(run("trace", "check", "--json", raw)[0])["ok"])
        with open(raw, encoding="utf-8") as file:
            other = file.read().replace('"rank": 3', '"rank": 1')
        with open(self.path("1.json"), "w", encoding="utf-8") as file:
            file.write(other)
        run("trace", "merge", raw, self.path("1.json"), "-o", self.path("m.json"))
        devices = read_trace(self.path("m.json"))["lockstep"]["devices"]
        self.assertEqual([device["id"] for device in devices], [0, 1])
        _, error = run("emulate", raw, code=1)
        self.assertIn("does not record what its kernels waited for", error)
        with open(self.path("plain.json"), "w", encoding="utf-8") as file:
            file.write('[{"ph": "X", "name": "aten::add", "ts": 1, "dur": 2}]')
        _, error = run("emulate", self.path("plain.json"), code=1)
        self.assertIn("lockstep did not record it", error)

    def test_a_rank_can_be_given(self):
        out = self.path("5.json")
        raw = ROOT + "/tests/golden/torch_profiler.json"
        run("trace", "import", "--rank", "5", raw, "-o", out)
        self.assertEqual(read_trace(out)["distributedInfo"]["rank"], 5)

    def test_hostile_files_leave_one_line_and_no_file(self):
        with open(ROOT + "/tests/golden/torch_profiler.json", encoding="utf-8") as file:
            whole = file.read()
        packed = gzip.compress(whole.encode() * 50)
        hostile = {
            "cut.json": whole[:len(whole) // 2], "empty.json": "", "text.json": "hello",
            "no_events.json": '{"traceEvents": []}', "number.json": "7",
            "wrong.json": '{"traceEvents": [{"ph": 1}]}',
            "not_a_list.json": '{"traceEvents": {}}',
            "device.json": whole.replace('"device":3', '"device":300'),
            "deep.json": "[" * 100_000, "cut.json.gz": packed[:len(packed) // 2],
        }
        for name, content in hostile.items():
            path, out = self.path(name), self.path("out.json")
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            for words in (("import", path, "-o", out),
                          ("export", "--kineto", path, "-o", out)):
                before = sorted(os.listdir(self.folder))
                _, error = run("trace", *words, code=1)
                self.assertEqual(error.count("\n"), 1, error)
                self.assertIn(name, error)
                self.assertEqual(sorted(os.listdir(self.folder)), before)
        golden = ROOT + "/tests/golden/minimal.json"
        _, error = run("trace", "import", golden, "-o", self.path("o.json"), code=1)
        self.assertIn("already", error)
        _, error = run("trace", "export", golden, "-o", self.path("o"), code=2)
        self.assertIn("--kineto", error)
        self.assertEqual(glob.glob(self.path("o*")), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
