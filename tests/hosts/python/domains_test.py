# SPDX-License-Identifier: BSD-3-Clause
"""Domains, balance, moves and near fields through the package graft, on one rank and on threads that stand for ranks, beside NumPy."""
import threading
import unittest

import numpy

import graft
from graft import Status

PAIRS = {"precision": "fp64", "method": "direct", "softening.kind": "plummer", "softening.length": 0.1}


def cloud(n=600):
    random = numpy.random.default_rng(11)
    return random.standard_normal((n, 3)), random.uniform(0.5, 1.5, n)


def on_ranks(size, body, **options):
    """body(context, rank) on each of `size` ranks, each in a thread of its own; what they return, by rank."""
    answers, failures = [None] * size, []

    def run(ranks):
        try:
            with graft.Context({"backend": "cpu", "threads": 1, "comm.deadline_s": 30, **PAIRS, **options}) as context:
                context.set_communicator(ranks)
                answers[ranks.rank] = body(context, ranks.rank)
        except BaseException as failure:
            failures.append(failure)
            raise
    threads = [threading.Thread(target=run, args=(ranks,)) for ranks in graft.thread_ranks(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return answers


class Domains(unittest.TestCase):
    def test_parts_hold_the_same_number_and_lie_in_their_boxes(self):
        x, m = cloud()
        with graft.Context({"decompose.parts": 5, "backend": "cpu"}) as context:
            parts = context.decompose(x, id=numpy.arange(len(x)))
            numpy.testing.assert_array_equal(context.owner_of(x), parts.owner)
        self.assertEqual(numpy.bincount(parts.owner, minlength=5).max(), 120)
        for part in range(5):
            mine = parts.permutation[parts.part_offset[part]:parts.part_offset[part + 1]]
            self.assertEqual(set(parts.owner[mine]), {part})
            self.assertTrue((x[mine] >= parts.boxes[part, :3]).all() and (x[mine] <= parts.boxes[part, 3:]).all())
        with graft.Context({"decompose.parts": 2, "decompose.mix": 1, "backend": "cpu"}) as context:
            weights = numpy.bincount(context.decompose(x, cost=m**8).owner, weights=m**8)
        self.assertLess(abs(weights[0] / weights[1] - 1), 0.1)

    def test_two_ranks_move_compute_and_bring_home(self):
        x, m = cloud()
        with graft.Context({**PAIRS, "backend": "cpu"}) as alone:
            expected = alone.compute(x, m).acceleration

        def body(context, rank):
            mine = slice(rank, None, 2)
            owner = context.decompose(x[mine]).owner
            count = context.migrate_plan(owner)
            here, mass, number = context.migrate(x[mine], m[mine], numpy.arange(len(x))[mine])
            self.assertEqual((len(here), here.dtype, number.dtype), (count, x.dtype, numpy.arange(1).dtype))
            numpy.testing.assert_array_equal(here, x[number])
            home, = context.migrate_back(context.compute(here, mass).acceleration)
            self.assertGreater(context.query("migrate.items_moved"), 0)
            return home
        for rank, home in enumerate(on_ranks(2, body)):
            numpy.testing.assert_allclose(home, expected[rank::2], rtol=1e-11, atol=1e-11)

    def test_balance(self):
        x, _ = cloud()

        def body(context, rank):
            mine = numpy.where(numpy.arange(len(x)) < 500)[0] if rank == 0 else numpy.where(numpy.arange(len(x)) >= 500)[0]
            cost = numpy.ones(len(mine))
            owner = context.balance(x[mine], cost=cost, step_s=1.0 if rank == 0 else 0.2, bytes_per_item=1)
            return owner, context.query_text("balance.decision")
        (left, why), (right, _) = on_ranks(2, body, **{"balance.cost": "given", "balance.tolerance": 1.05})
        self.assertEqual(why, "taken")
        self.assertLess(abs(numpy.bincount(numpy.concatenate((left, right))) - 300).max(), 20)

    def test_objects_may_be_split(self):
        asked = []

        def body(context, rank):
            centres = numpy.array([[0.0, 0, 0], [1, 0, 0]]) + 4 * rank

            def split(number, load, mean):
                asked.append((rank, number, load, mean))
                return 1
            return context.balance_objects(centres, numpy.array([9.0, 1]) if rank == 0 else numpy.ones(2), split=split, step_s=1)
        owners = on_ranks(2, body)
        self.assertEqual([len(owner) for owner in owners], [2, 2])
        self.assertEqual(asked, [(0, 0, 9.0, 6.0)])

    def test_refusals(self):
        with graft.Context({"backend": "cpu"}) as context:
            for status, call, *arguments in ((Status.CALL_ORDER, context.migrate, numpy.zeros(3)),
                                             (Status.VALUE, context.migrate_plan, numpy.array([0, 3])),
                                             (Status.CALL_ORDER, context.owner_of, numpy.zeros((1, 3))),
                                             (Status.ARRAY, context.decompose, [[0, 0, 0]])):
                with self.assertRaises(graft.Error) as caught:
                    call(*arguments)
                self.assertEqual(caught.exception.status, status)


class NearFields(unittest.TestCase):
    def pairs(self, x, q, near):
        d = x[:, None] - x
        r = numpy.sqrt((d**2).sum(-1))
        numpy.fill_diagonal(r, 1)
        near = near & ~numpy.eye(len(x), dtype=bool)
        return (near * q / r).sum(1), -((near * q / r**3)[..., None] * d).sum(1)

    def test_boxes_of_the_caller(self):
        x, q = cloud(40)
        box = numpy.repeat(numpy.arange(4), 10)
        near = abs(box[:, None] - box) <= 1
        lists = [(0, 1), (0, 1, 2), (1, 2, 3), (2, 3)]
        described = {"boxes": "lists", "target_offset": numpy.arange(0, 41, 10), "neighbour_offset": numpy.array([0, 2, 5, 8, 10]),
                     "neighbour": numpy.array(sum(lists, ())), "gradient": True, "precision": "fp64"}
        phi, gradient = self.pairs(x, q, near)
        with graft.Context({"backend": "cpu"}) as context:
            with context.near_field(x, **described) as plan:
                found = plan.execute(q)
                numpy.testing.assert_allclose(found.potential, phi, rtol=1e-13)
                numpy.testing.assert_allclose(found.gradient, gradient, rtol=0, atol=1e-12 * abs(gradient).max())
                twice = found.potential.copy()
                again = plan.execute(q, potential=graft.add(twice), gradient=False)
                numpy.testing.assert_array_equal(twice, 2 * found.potential)
                self.assertIsNone(again.gradient)
                plan.update(tuple(2 * x.T))
                numpy.testing.assert_allclose(plan.execute(q).potential, phi / 2, rtol=1e-13)
                plan.begin(q)
                numpy.testing.assert_allclose(plan.end().potential, phi / 2, rtol=1e-13)
                with self.assertRaises(graft.Error) as caught:
                    plan.end()
                self.assertEqual(caught.exception.status, Status.CALL_ORDER)
            from_1 = {name: array + 1 if isinstance(array, numpy.ndarray) else array for name, array in described.items()}
            plan = context.near_field(x, index_from_1=True, **from_1)
            numpy.testing.assert_array_equal(plan.execute(q).potential, found.potential)
        plan.close() # its context has closed it

    def test_boxes_made_here_and_other_kernels(self):
        x, q = cloud(50)
        with graft.Context({"backend": "cpu"}) as context:
            for boxes in ({"boxes": "leaves", "most": 100}, {"boxes": "grid", "cells": (1, 1, 1), "lower": (-9, -9, -9), "upper": (9, 9, 9)}):
                found = context.near_field(x, precision="fp64", **boxes).execute(q)
                numpy.testing.assert_allclose(found.potential, self.pairs(x, q, numpy.ones((50, 50), bool))[0], rtol=1e-12)
            two = numpy.array([[0.0, 0, 0], [3, 0, 0]])
            plan = context.near_field(two, kernel="helmholtz", wave_number=2.0, precision="fp64")
            charge = numpy.array([[1.0, 2], [3, 4]])
            found = plan.execute(charge).potential @ (1, 1j)
            numpy.testing.assert_allclose(found, (charge[::-1] @ (1, 1j)) * numpy.exp(6j) / 3, rtol=1e-13)
            knots = numpy.array([[r * r, 2 * r] for r in (1.0, 2, 3, 4)])
            plan = context.near_field(two, kernel="table", table=knots, table_begin=1, table_step=1, precision="fp64")
            numpy.testing.assert_allclose(plan.execute((numpy.array([1.0, 2]),)).potential, [18, 9], rtol=1e-13)
            for wrong, words in (({"kernel": "coulomb"}, "laplace"), ({"layout": "packed"}, "tiled_split"), ({"boxes": "cells"}, "grid")):
                with self.assertRaisesRegex(graft.Error, words):
                    context.near_field(two, **wrong)
            with self.assertRaisesRegex(TypeError, "target_offset"):
                context.near_field(two, target_ofset=numpy.zeros(2, "i4"))


if __name__ == "__main__":
    unittest.main()
