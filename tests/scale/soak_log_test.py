#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where a campaign goes on after a kill: the last whole line of its seed; what was cut is taken off the log. usage: soak_log_test.py"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from soak import done_before  # noqa: E402

LINES = ['{"seed": 7, "case": 0, "verdict": "ok"}\n', '{"seed": 7, "case": 1, "verdict": "ok"}\n', '{"seed": 8, "case": 5, "verdict": "ok"}\n']


class Log(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "log.jsonl")

    def case_after(self, text, seed=7):
        with open(self.path, "w", encoding="utf-8") as log:
            log.write(text)
        number = done_before(self.path, seed)
        with open(self.path, encoding="utf-8") as log:
            return number, log.read()

    def test_whole_lines(self):
        self.assertEqual(done_before(self.path, 7), 0)
        whole = "".join(LINES)
        self.assertEqual(self.case_after(whole), (2, whole))
        self.assertEqual(self.case_after(whole, seed=8), (6, whole))
        self.assertEqual(self.case_after(whole, seed=9), (0, whole))

    def test_a_line_that_is_cut(self):
        for length in range(1, len(LINES[1])):
            self.assertEqual(self.case_after(LINES[0] + LINES[1][:length]), (1, LINES[0]), length)
        self.assertEqual(self.case_after(LINES[0][:9]), (0, ""))


if __name__ == "__main__":
    unittest.main()
