#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of run.sh from answers as the programs give them: targets met and missed, floors, answers cut off."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import rows # noqa: E402
import sanitize # noqa: E402
import sass # noqa: E402

PAIRS = {"n": 262144, "limits": {"mix_pairs_per_s": 2e12, "fma_fp64_per_s": 1.6e13, "read_bytes_per_s": 4e12, "copy_bytes_per_s": 4e12},
         "all_pairs": {name: {"limit_pairs_per_s": limit, "best": {"pairs_per_s": rate}}
                       for name, limit, rate in (("fp32", 2e12, 2.06e12), ("fp64", 1e12, 6.9e11))}}
STEPS = {"n": 1000000, "ic": "plummer", "leaf": 64, "group": 64, "nodes": 60000, "leaves": 40000, "node_entries": 1.8e7,
         "leaf_entries": 1e6, "pairs": 1e9, "cells": 9e8, "walk_s": {"thread": 3e-3, "warp": 3e-4},
         "count_s": {"thread": 1.4e-3, "warp": 1.4e-4},
         "time_s": {"sort": 2e-4, "tree": 2.9e-4, "moments": 2e-4, "targets": 5e-5, "criterion": 5e-5, "walk": 3e-4, "p2p": 6e-4,
                    "m2p": 1.3e-3, "forces": 1.8e-3}}


def force(total_s, p99):
    return {"n": 1000000, "time_s": {"total": total_s, "tree": 3e-4, "forces": 1.2e-3},
            "interactions": {"p2p": 1e9, "m2p": 9e8}, "error": {"p99": p99}, "tree": {"groups": 22000, "nodes": 60000, "leaves": 40000}}


def table_of(ranks=(), **answers):
    benchmarks = [{"name": name.replace("_", "-"), "command": "graft " + name, "answers": [answer]} for name, answer in answers.items()]
    made, assumed = rows.all_rows(benchmarks, list(ranks))
    return {one["what"]: one for one in made}, assumed


class Table(unittest.TestCase):
    def test_first_step_goal_and_missed(self):
        for total_s, p99, expected in ((1.7e-3, 9e-4, "goal"), (5e-3, 9e-4, "yes"), (7e-3, 9e-4, "no"), (1.7e-3, 2e-3, "no")):
            made, _ = table_of(plummer_1e6=force(total_s, p99))
            self.assertEqual(made["Plummer 1e6"]["ok"], expected)
            self.assertAlmostEqual(made["Plummer 1e6"]["ours"], 1e3 * total_s)

    def test_parts_of_an_evaluation_have_floors(self):
        made, _ = table_of(plummer_1e6=force(2e-3, 9e-4), pairs=PAIRS)
        floors = [made["Plummer 1e6: " + part]["floor"] for part, _, _ in rows.PARTS]
        self.assertAlmostEqual(sum(floors), made["Plummer 1e6"]["floor"])
        self.assertAlmostEqual(made["Plummer 1e6: P2P, M2P, M2L"]["share"], 1e9 * (12 + 0.9 * 30) / (13 * 2e12) / 1.2e-3)
        self.assertAlmostEqual(made["Plummer 1e6: tree, sort included"]["ours"], 0.3)

    def test_rates_are_better_when_larger(self):
        made, assumed = table_of(pairs=PAIRS)
        self.assertEqual(made["P2P fp32, all pairs"]["ok"], "yes")
        self.assertEqual(made["P2P fp64, all pairs"]["ok"], "no")
        self.assertAlmostEqual(made["P2P fp64, all pairs"]["share"], 0.69)
        self.assertFalse(assumed)

    def test_floors_are_of_the_rates_of_the_run(self):
        made, _ = table_of(pairs=PAIRS, steps_1e6=STEPS)
        slots = 13 * 2e12
        self.assertAlmostEqual(made["Plummer 1e6, 64/64: P2P"]["floor"], 1e3 * 1e9 * 12 / slots)
        self.assertEqual(made["Plummer 1e6, 64/64: tree, sort included"]["ok"], "yes")
        self.assertTrue(table_of(steps_1e6=STEPS)[1])

    def test_near_fields_best_kernel_counts_and_the_papers_two_beside_ours(self):
        def near(density, **kernels):
            layouts = [{"layout": name, "time_s": {"kernel": s, "total": 3 * s}} for name, s in kernels.items()]
            return {"n": 1000, "density": density, "pairs": 1.9e9, "layouts": layouts + [{"layout": "indexed", "refused": "too large"}]}
        made, _ = table_of(near_64=near(64, tiled=1e-3), near_2=near(2, ranges=2e-3, replicated=1e-3), pairs=PAIRS)
        tiled = made["near field, 64 a box: tiled, useful"]
        self.assertEqual((tiled["ours"], tiled["ok"]), (1.9e12, "yes"))
        self.assertAlmostEqual(tiled["share"], 1.9e12 * 9.5 / (13 * 2e12))
        self.assertEqual(made["near field, 2 a box: replicated, useful"]["ok"], "")
        self.assertEqual(made["near field, 2 a box: better of the paper's two / ours"]["ok"], "no")
        self.assertEqual(table_of(near_64=near(64, tiled=2e-3))[0]["near field, 64 a box: tiled, useful"]["ok"], "no")

    def test_use_of_the_device_as_gaburov_counts_it(self):
        made, _ = table_of(steps_theta=STEPS)
        self.assertAlmostEqual(made["gaburov2010: leaf lists, 38 flops"]["ours"], 1e-9 * 38 * 1e9 / 6e-4)
        self.assertEqual(made["gaburov2010: second walk, a thread a group"]["ok"], "yes")

    def test_a_full_row_counts_as_the_short_one(self):
        made, _ = rows.all_rows([{"name": "merger+", "command": "c", "answers": [{"n": 8e5, "particles/s": 1e8}]}], [])
        self.assertEqual((made[0]["ok"], made[0]["command"]), ("yes", "c"))

    def test_rows_of_several_gpus_pass_through(self):
        made, _ = table_of(ranks=[{"what": "2 GPUs", "n": 1, "ours": 3.0, "unit": "ms", "command": "m", "ok": False, "wait_s": 1}])
        self.assertEqual((made["2 GPUs"]["ok"], made["2 GPUs"]["wait_s"], made["2 GPUs"]["command"]), ("no", 1, "m"))

    def test_errors_over_ranks_are_those_of_one(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for ranks, median in ((1, 2e-4), (2, 2.1e-4), (4, 2.4e-4)):
                paths.append(os.path.join(folder, str(ranks)))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    json.dump({"n": 1000, "backend": "gpu", "error": {"median": median, "p99": 1e-3}, "ranks": {"size": ranks}}, file)
            call = [sys.executable, os.path.join(here, "report.py"), "percentiles"]
            done = subprocess.run(call + paths, capture_output=True, text=True, check=True)
            made, _ = table_of(ranks=[json.loads(line) for line in done.stdout.splitlines()])
            self.assertEqual(made["2 ranks of MPI: median over one's"]["ok"], "yes")
            self.assertEqual(made["4 ranks of MPI: median over one's"]["ok"], "no")
            self.assertEqual(made["4 ranks of MPI: p99 over one's"]["ours"], 1)
            self.assertNotEqual(subprocess.run(call + paths + [os.devnull], capture_output=True, check=False).returncode, 0)

    def test_every_line_of_bench_txt_is_read(self):
        with open(os.path.join(here, "bench.txt"), encoding="utf-8") as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
        names = []
        for line in lines:
            name, stage, level = line.split("|")[0].split()
            self.assertIn(stage, ("bench", "papers"))
            self.assertIn(level, ("short", "full"))
            names.append(name)
        self.assertEqual(len(names), len(set(names)))
        for name, *_ in rows.FORCES:
            self.assertIn(name, names)


class Sanitizers(unittest.TestCase):
    LOG = ("[ RUN      ] A.First\n[       OK ] A.First (1200 ms)\n[ RUN      ] A.Second\n%s[==========] 2 tests ran.\n"
           "========= ERROR SUMMARY: %d error%s\n")

    def judge(self, middle, count, status):
        return sanitize.judged(self.LOG % (middle, count, "" if count == 1 else "s"), status)

    def test_how_a_shard_ended(self):
        done = "[       OK ] A.Second (3 ms)\n"
        self.assertEqual(self.judge(done, 0, 0)["ended"], "clean")
        self.assertEqual(self.judge(done, 0, 0)["times"], {"A.First": 1200, "A.Second": 3})
        self.assertEqual(self.judge(done, 1, 86)["ended"], "findings")
        self.assertEqual(self.judge(done, 20280, 1)["found"], 20280)
        failed = self.judge("[  FAILED  ] A.Second (3 ms)\n", 0, 1)
        self.assertEqual((failed["ended"], failed["bad"]), ("failed", ["A.Second"]))
        cut = sanitize.judged("[ RUN      ] A.First\n[       OK ] A.First (9 ms)\n[ RUN      ] A.Second\n", 124)
        self.assertEqual((cut["ended"], cut["at"]), ("cut off", "A.Second"))
        none = "[ RUN      ] A.First\n[  SKIPPED ] A.First (1 ms)\n========= ERROR SUMMARY: 0 errors\n"
        self.assertEqual(sanitize.judged(none, 0)["ended"], "skipped")
        self.assertEqual(sanitize.judged("========= Error: no such device\n", 0)["ended"], "failed")
        self.assertEqual(sanitize.judged("========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n", 86)["found"], 2)

    RACE = ("[ RUN      ] A.First\n[       OK ] A.First (9 ms)\n[ RUN      ] A.Second/3\n"
            "========= Error: Race reported between Write access at f()+0x10\n=========     and Read access at f()+0x20 [4 hazards]\n"
            "========= \n[       OK ] A.Second/3, where GetParam() = 4 (7 ms)\n[ RUN      ] A.Third\n")

    def test_a_report_is_that_of_the_test_that_ran(self):
        cut = sanitize.judged(self.RACE, 124)
        self.assertEqual((cut["ended"], cut["found"], cut["at"]), ("findings", 1, "A.Third"))
        self.assertEqual([report["test"] for report in cut["reports"]], ["A.Second/3"])
        self.assertIn("f()+0x20", cut["reports"][0]["text"])
        self.assertEqual(sanitize.done(cut), {"A.First": 9})
        both = [cut | {"tool": "racecheck", "program": "gpu_a"}] * 2
        self.assertEqual(sanitize.all_reports(both).count("Race reported"), 1)

    def test_a_launch_that_the_tool_lost_is_no_finding(self):
        lost = sanitize.judged("[ RUN      ] A.B\n========= Internal Sanitizer Error: Detected a failure to track a kernel launch.\n"
                               "[       OK ] A.B (5 ms)\n========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n", 86)
        self.assertEqual((lost["ended"], lost["found"], sanitize.done(lost)), ("lost", 0, {}))
        more = sanitize.judged(self.RACE + "========= Internal Sanitizer Error: x\n========= RACECHECK SUMMARY: 2 hazards displayed\n", 86)
        self.assertEqual((more["ended"], more["found"]), ("findings", 1))

    def test_what_an_earlier_run_has_done_counts(self):
        shard = {"ended": "clean", "tests": ["A.B"], "times": {"A.B": 1}, "seconds": 1.2, "log": "x/l.log", "at": "", "bad": [], "found": 0}
        words = sanitize.step("memcheck", "gpu_a", [shard], {}, {"A.C": 3, "A.D": 4}).split("\t")
        self.assertEqual((words[2], words[4]), ("clean", "3 of 3 tests in 1 processes; 2 in an earlier run"))
        self.assertEqual(sanitize.step("memcheck", "gpu_a", [], {}, {"A.C": 3}).split("\t")[2], "clean")

    SASS = """
		Function : _Z5plainPi
        /*0000*/                   LDC R1, c[0x0][0x28] ;    /* 0x00000a00ff017b82 */
        /*0010*/              @!P0 LDG.E R0, desc[UR4][R2.64] ;
        /*0020*/                   REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R0 ;
        /*0030*/                   CALL.REL.NOINC 0x1230 ;
		Function : _Z6sharedPi
        /*0000*/                   MOV R1, R2 ;
        /*0010*/             @!UP0 STS.64 [R4+0x10], R2 ;
"""

    def test_which_kernels_touch_shared_memory(self):
        self.assertEqual(sass.uses_of(self.SASS), {"_Z5plainPi": False, "_Z6sharedPi": True})
        for line in ("LDS R1, [R2] ;", "@P6 ATOMS.ADD RZ, [UR4], R2 ;", "LDGSTS.E.BYPASS.128 [R3], desc[UR4][R4.64] ;", "LD.E R1, [R2] ;",
                     "UBLKCP.S.G [UR4], [UR6] ;", "SYNCS.EXCH.64 URZ, [UR4], UR6 ;", "ST.E.STRONG.SYS desc[UR10][R6.64], R9 ;",
                     "@!P1 ATOM.E.ADD R1, [R2], R3 ;", "CALL.ABS.NOINC R20 ;", "UTMALDG.2D [UR8], [UR4] ;"):
            self.assertTrue(sass.uses_of(f"\t\tFunction : f\n        /*0a10*/  {line}\n")["f"], line)
        for line in ("LDG.E R1, [R2] ;", "STG.E [R2], R1 ;", "LDL R1, [R2] ;", "ATOMG.E.ADD R1, [R2], R3 ;", "STL [R1], R2 ;"):
            self.assertFalse(sass.uses_of(f"\t\tFunction : f\n        /*0a10*/  {line}\n")["f"], line)
        self.assertEqual(sass.either([{"a": False, "b": False}, {"b": True}, {"b": False}]), {"a": False, "b": True})

    def test_kernels_are_left_out_by_whole_names(self):
        words = sanitize.exclusions([f"_Z{k}kernel" for k in range(450)] + ["_ZN3cub8CUB_1234scan"])
        self.assertEqual(words[::2], ["--kernel-name-exclude"] * 3)
        named = ",".join(words[1::2]).split(",")
        self.assertEqual((len(named), named[0], named[-1]), (450, "kne=_Z0kernel", "kne=_Z449kernel"))
        self.assertLess(max(map(len, words)), 1 << 17)

    def test_a_planted_hazard_that_is_not_reported_fails(self):
        said = "".join(f"========= Error: Race reported between Write access at {name}(int *)+0x10 in a.cu:3\n" for name in
                       sanitize.PLANTED_KERNELS)
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "compute-sanitizer")
            for text, ended in ((said, "clean"), (said.replace("dynamic", "other"), "failed"), ("", "failed")):
                with open(tool, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\ncat <<'TEXT'\n{text}TEXT\n")
                os.chmod(tool, 0o755)
                with unittest.mock.patch.dict(os.environ, PATH=folder + ":" + os.environ["PATH"]):
                    line = sanitize.planted("program", sanitize.Racecheck(folder, [], 1, 1), os.path.join(folder, "log"), 10).split("\t")
                self.assertEqual(line[2], ended)
                self.assertEqual("dynamic_memory" in line[4], bool(text) and ended == "failed" or not text)

    def test_few_processes_of_racecheck_share_a_device(self):
        devices = sanitize.Devices([16, 3], 5)
        self.assertEqual(sorted(devices.take("racecheck") for _ in range(8)), [0] * 5 + [1] * 3)
        self.assertEqual((devices.free("racecheck"), devices.free("memcheck")), ([0, 0], [11, 0]))
        devices.give(1, "racecheck")
        self.assertEqual(devices.take("racecheck"), 1)

    def test_shards_hold_every_test_once_and_long_ones_come_first(self):
        tests = [f"A.Test{k}" for k in range(40)]
        shards = sanitize.shards_of(tests, 1.0)
        self.assertEqual(sorted(name for _, members in shards for name in members), sorted(tests))
        self.assertTrue(all(seconds <= sanitize.SHARD_SECONDS for seconds, _ in shards))
        self.assertEqual(sanitize.shards_of([], 1.0), [])

    def test_the_worst_shard_names_the_step(self):
        def shard(ended, **more):
            return {"ended": ended, "tests": ["A.B"], "times": {}, "seconds": 1.2, "log": "x/l.log", "at": "", "bad": [], "found": 0} | more
        line = sanitize.step("memcheck", "gpu_a", [shard("clean"), shard("findings", found=7), shard("cut off", at="A.B")], {"A.C": "why"})
        self.assertEqual(line.split("\t")[:4], ["sanitize", "memcheck.gpu_a", "findings", "4"])
        late = sanitize.step("memcheck", "gpu_a", [shard("clean"), shard("skipped", seconds=0)], {})
        self.assertEqual(late.split("\t")[2], "skipped")
        for words in ("7 in l.log", "cut off in A.B", "1 left out"):
            self.assertIn(words, line)


class Program(unittest.TestCase):
    def test_writes_table_and_json(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "pairs.jsonl"), "w", encoding="utf-8") as file:
                file.write(json.dumps(PAIRS) + '\n{"cut off')
            with open(os.path.join(folder, "steps.txt"), "w", encoding="utf-8") as file:
                file.write("tests\tgpu_tree\tok\t3\tPASSED 4 tests;\nbench\torb\tfailed\t1\tstatus 1\n"
                           "sanitize\tmemcheck.gpu_tree\tclean\t3\t4 tests\nsanitize\tracecheck.gpu_tree\tcut off\t3\t\n")
            program = os.path.join(here, "report.py")
            subprocess.run([sys.executable, program, "add", folder, "pairs", "graft bench p2p"], check=True)
            shown = subprocess.run([sys.executable, program, "show", folder, "a GPU", "13.0"], check=True, capture_output=True, text=True)
            self.assertIn("P2P fp32, all pairs", shown.stdout)
            self.assertIn("2 ok, 2 failed, 0 skipped", shown.stdout)
            with open(os.path.join(folder, "results.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["rows"][0]["command"], "graft bench p2p")


if __name__ == "__main__":
    unittest.main()
