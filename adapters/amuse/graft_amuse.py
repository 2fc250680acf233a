# SPDX-License-Identifier: BSD-3-Clause
"""Graft as a gravity code of AMUSE: `Graft`, a GravitationalDynamics worker, and `GraftField`, the field of a particle set
without a worker. Both answer get_gravity_at_point and get_potential_at_point, and so can be partners in a Bridge.
"""
import shutil
import tempfile

import numpy

from amuse.community.interface import gd
from amuse.rfi.core import LegacyFunctionSpecification, PythonCodeInterface, legacy_function
from amuse.units import nbody_system

import graft_engine


def _for_whole_arrays(name):
    """AMUSE's specification of a function, asked for with all its particles in one call instead of one call a particle."""
    base = getattr(gd.GravitationalDynamicsInterface, name)

    def specify():
        specification = base.specification_function()
        specification.can_handle_array, specification.must_handle_array = False, True
        specification.addParameter("npoints", dtype="i", direction=LegacyFunctionSpecification.LENGTH)
        return specification

    specify.__name__, specify.__doc__ = name, base.specification_function.__doc__
    return legacy_function(specify)


def _parameter(name, argument, dtype, direction):
    def specify():
        specification = LegacyFunctionSpecification()
        specification.addParameter(argument, dtype=dtype, direction=direction)
        specification.result_type = "int32"
        return specification

    specify.__name__ = name
    return legacy_function(specify)


_IN, _OUT = LegacyFunctionSpecification.IN, LegacyFunctionSpecification.OUT


class GraftInterface(PythonCodeInterface, gd.GravitationalDynamicsInterface, gd.GravityFieldInterface):
    """The functions of the worker, a process of its own that holds the particles and talks over a socket."""

    def __init__(self, **options):
        for key, value in (("channel_type", "sockets"), ("mpiexec", ""), ("initialize_mpi", False)):
            options.setdefault(key, value)  # one process that needs no MPI of its own
        folder = tempfile.mkdtemp(prefix="graft_amuse_")  # for the script that AMUSE writes
        try:
            PythonCodeInterface.__init__(self, graft_engine.GraftEngine, worker_dir=folder, **options)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    set_time_step = _parameter("set_time_step", "time_step", "float64", _IN)
    set_accuracy = _parameter("set_accuracy", "accuracy", "float64", _IN)
    get_accuracy = _parameter("get_accuracy", "accuracy", "float64", _OUT)
    set_deck = _parameter("set_deck", "path", "string", _IN)
    get_deck = _parameter("get_deck", "path", "string", _OUT)


for _name in ("new_particle delete_particle get_state set_state get_mass set_mass get_radius set_radius get_position set_position "
              "get_velocity set_velocity get_acceleration get_potential").split():
    setattr(GraftInterface, _name, _for_whole_arrays(_name))


class Graft(gd.GravitationalDynamics, gd.GravityFieldCode):
    """Leapfrog with constant step and Graft's forces. parameters: epsilon_squared (Plummer), timestep, begin_time, accuracy (mac.accuracy;
    0: the deck's or Graft's own), deck (a file of Graft's keys)."""

    def __init__(self, convert_nbody=None, **options):
        gd.GravitationalDynamics.__init__(self, GraftInterface(**options), convert_nbody, **options)

    def define_state(self, handler):
        gd.GravitationalDynamics.define_state(self, handler)
        gd.GravityFieldCode.define_state(self, handler)

    def define_parameters(self, handler):
        handler.add_method_parameter("get_eps2", "set_eps2", "epsilon_squared", "smoothing parameter for gravity calculations",
                                     default_value=0.0 | nbody_system.length**2)
        handler.add_method_parameter("get_time_step", "set_time_step", "timestep", "largest step of the leapfrog",
                                     default_value=0.01 | nbody_system.time)
        handler.add_method_parameter("get_begin_time", "set_begin_time", "begin_time", "model time to start the simulation at",
                                     default_value=0.0 | nbody_system.time)
        handler.add_method_parameter("get_accuracy", "set_accuracy", "accuracy", "force error allowed per node; 0: the deck's",
                                     default_value=0.0)
        handler.add_method_parameter("get_deck", "set_deck", "deck", "path of a deck with Graft's keys", default_value="")

    def define_methods(self, handler):
        gd.GravitationalDynamics.define_methods(self, handler)
        none, code = handler.NO_UNIT, handler.ERROR_CODE
        handler.add_method("get_eps2", (), (nbody_system.length**2, code))
        handler.add_method("set_eps2", (nbody_system.length**2,), (code,))
        handler.add_method("set_time_step", (nbody_system.time,), (code,))
        for name in ("accuracy", "deck"):
            handler.add_method("get_" + name, (), (none, code))
            handler.add_method("set_" + name, (none,), (code,))


class GraftField:
    """The gravity of a particle set (masses and positions, read anew in each call), computed in this process. eps: Plummer length
    of the set. converter: needed for sets with units other than N-body's; options: Graft's deck keys."""

    def __init__(self, particles, eps=None, converter=None, deck=None, options=None):
        self.particles, self.converter = particles, converter
        self.eps = 0.0 if eps is None else self._number(eps, nbody_system.length)
        self.field = graft_engine.GravityField(self.eps, deck, options)

    def _number(self, quantity, unit):
        if self.converter is not None:
            quantity = self.converter.to_nbody(quantity)
        return quantity.value_in(unit)

    def _quantity(self, number, unit):
        quantity = number | unit
        return quantity if self.converter is None else self.converter.to_si(quantity)

    def _at(self, eps, x, y, z, **wanted):
        length = nbody_system.length
        points = numpy.column_stack([numpy.atleast_1d(self._number(axis, length)) for axis in (x, y, z)])
        lengths = numpy.broadcast_to(self._number(eps, length), len(points)).astype(float)
        position = numpy.ascontiguousarray(self._number(self.particles.position, length))
        mass = numpy.ascontiguousarray(self._number(self.particles.mass, nbody_system.mass))
        return self.field.at_points(position, mass, points, lengths, **wanted)

    def get_gravity_at_point(self, eps, x, y, z):
        found = self._at(eps, x, y, z).acceleration
        return tuple(self._quantity(found[:, axis].copy(), nbody_system.acceleration) for axis in range(3))

    def get_potential_at_point(self, eps, x, y, z):
        found = self._at(eps, x, y, z, acceleration=False, potential=True).potential
        return self._quantity(found, nbody_system.potential)

    def stop(self):
        self.field.close()
