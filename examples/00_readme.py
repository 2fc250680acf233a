# SPDX-License-Identifier: BSD-3-Clause
import graft
import numpy

x = numpy.array([[0.0, 0, 0], [1, 0, 0], [3, 0, 0]])
with graft.Context({"mac.accuracy": 0.001}) as gravity:
    print(gravity.compute(x, numpy.array([1.0, 2, 4])).acceleration[:, 0])  # [ 2.44444444  0. -0.61111111]
