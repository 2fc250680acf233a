# SPDX-License-Identifier: BSD-3-Clause
"""What the AMUSE adapter computes, without AMUSE: particles with numbers of their own, a kick-drift-kick leapfrog of constant
step, energies, and the field at points. N-body units, G = 1; forces, potentials and energies are Graft's.

GraftEngine is the implementation that AMUSE's worker serves (graft_amuse.py): methods have the names and argument names of
AMUSE's GravitationalDynamics and GravityField interfaces; arguments are arrays, results go into `.value` of holders, 0 is success.
Failures raise graft.Error or ValueError, whose text AMUSE hands to its user.
"""
import math

import graft
import numpy

# Squared softening of a pair is (h_i^2 + h_j^2) / 2 in Graft, and eps_code^2 + eps_point^2 in AMUSE.
_PAIR = math.sqrt(2.0)


class GravityField:
    """The field of softened masses. `deck` and `options` are Graft's; softening is Plummer's, with length eps."""

    def __init__(self, eps=0.0, deck=None, options=None):
        kind = {"softening.kind": "plummer", "softening.length": repr(float(eps))}
        self.eps, self.context = float(eps), graft.Context({**(options or {}), **kind}, deck=deck or None)

    def at_particles(self, position, mass, **wanted):
        return self.context.compute(position, mass, **wanted)

    def at_points(self, position, mass, points, eps_points, **wanted):
        """Points with a length of their own join the tree as targets without mass: any length per point in one call."""
        if not numpy.any(eps_points):
            return self.context.field_at(position, mass, points, **wanted)
        sources = len(mass)
        lengths = numpy.concatenate((numpy.full(sources, self.eps), eps_points))
        found = self.context.compute(numpy.concatenate((position, points)), numpy.append(mass, numpy.zeros(len(points))),
                                     softening=_PAIR * lengths, target_index=numpy.arange(sources, sources + len(points)), **wanted)
        return found._replace(**{name: getattr(found, name)[sources:] for name in ("acceleration", "potential")
                                 if getattr(found, name) is not None})

    def close(self):
        self.context.close()


class GraftEngine:
    """Invariants: rows of the arrays are the particles in the order they came; row_of[number] is a row or -1; `acceleration` is
    that of the present positions, or None."""

    def __init__(self):
        self.eps2, self.time_step, self.begin_time, self.accuracy, self.deck = 0.0, 0.01, 0.0, 0.0, ""
        self.field = None
        self.initialize_code()

    def initialize_code(self):
        self.number, self.row_of = numpy.zeros(0, "i4"), numpy.zeros(0, "i8")
        self.mass, self.radius = numpy.zeros(0), numpy.zeros(0)
        self.position, self.velocity = numpy.zeros((0, 3)), numpy.zeros((0, 3))
        self.time, self.acceleration = self.begin_time, None
        return 0

    def cleanup_code(self):
        self._forget_field()
        return self.initialize_code()

    def commit_parameters(self):
        self.time = self.begin_time
        return 0

    def recommit_parameters(self):
        return 0

    def commit_particles(self):
        self.acceleration = None
        return 0

    recommit_particles = commit_particles

    def synchronize_model(self):
        return 0

    # ---- parameters ----

    def _forget_field(self):
        if self.field is not None:
            self.field.close()
        self.field, self.acceleration = None, None

    def set_eps2(self, epsilon_squared):
        if not epsilon_squared >= 0:
            raise ValueError(f"epsilon_squared is {epsilon_squared}; 0 or more was expected")
        self.eps2 = epsilon_squared
        self._forget_field()
        return 0

    def get_eps2(self, epsilon_squared):
        epsilon_squared.value = self.eps2
        return 0

    def set_time_step(self, time_step):
        if not (time_step > 0 and math.isfinite(time_step)):
            raise ValueError(f"timestep is {time_step}; a positive time was expected")
        self.time_step = time_step
        return 0

    def get_time_step(self, time_step):
        time_step.value = self.time_step
        return 0

    def set_begin_time(self, time):
        if not math.isfinite(time):
            raise ValueError(f"begin_time is {time}; a time was expected")
        self.begin_time = time
        return 0

    def get_begin_time(self, time):
        time.value = self.begin_time
        return 0

    def set_accuracy(self, accuracy):
        if not accuracy >= 0:
            raise ValueError(f"accuracy is {accuracy}; a force error above 0, or 0 for the deck's, was expected")
        self.accuracy = accuracy
        self._forget_field()
        return 0

    def get_accuracy(self, accuracy):
        accuracy.value = self.accuracy
        return 0

    def set_deck(self, path):
        self.deck = path
        self._forget_field()
        return 0

    def get_deck(self, path):
        path.value = self.deck
        return 0

    # ---- particles ----

    def _rows(self, numbers):
        numbers = numpy.atleast_1d(numbers)
        known = (numbers >= 0) & (numbers < len(self.row_of))
        rows = numpy.where(known, self.row_of[numpy.where(known, numbers, 0)], -1) if len(self.row_of) else numbers * 0 - 1
        if (rows < 0).any():
            raise ValueError(f"particle {numbers[rows < 0][0]} is not (or no longer) here; {len(self.mass)} particles are")
        return rows

    def new_particle(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius=0.0, npoints=None):
        first, count, new = len(self.row_of), len(numpy.atleast_1d(mass)), len(self.mass)
        numbers = numpy.arange(first, first + count, dtype="i4")
        self.row_of = numpy.append(self.row_of, numpy.arange(new, new + count))
        self.number = numpy.append(self.number, numbers)
        self.mass = numpy.append(self.mass, mass)
        self.radius = numpy.append(self.radius, numpy.broadcast_to(radius, count))
        self.position = numpy.concatenate((self.position, numpy.column_stack((x, y, z))))
        self.velocity = numpy.concatenate((self.velocity, numpy.column_stack((vx, vy, vz))))
        self.acceleration = None
        index_of_the_particle.value = numbers
        return 0

    def delete_particle(self, index_of_the_particle, npoints=None):
        keep = numpy.ones(len(self.mass), bool)
        keep[self._rows(index_of_the_particle)] = False
        for name in ("number", "mass", "radius", "position", "velocity"):
            setattr(self, name, getattr(self, name)[keep])
        self.row_of[:] = -1
        self.row_of[self.number] = numpy.arange(len(self.number))
        self.acceleration = None
        return 0

    def get_state(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius, npoints=None):
        rows = self._rows(index_of_the_particle)
        mass.value, radius.value = self.mass[rows], self.radius[rows]
        x.value, y.value, z.value = self.position[rows].T
        vx.value, vy.value, vz.value = self.velocity[rows].T
        return 0

    def set_state(self, index_of_the_particle, mass, x, y, z, vx, vy, vz, radius=0.0, npoints=None):
        self.set_mass(index_of_the_particle, mass)
        self.set_radius(index_of_the_particle, radius)
        self.set_position(index_of_the_particle, x, y, z)
        return self.set_velocity(index_of_the_particle, vx, vy, vz)

    def get_mass(self, index_of_the_particle, mass, npoints=None):
        mass.value = self.mass[self._rows(index_of_the_particle)]
        return 0

    def set_mass(self, index_of_the_particle, mass, npoints=None):
        self.mass[self._rows(index_of_the_particle)] = mass
        self.acceleration = None
        return 0

    def get_radius(self, index_of_the_particle, radius, npoints=None):
        radius.value = self.radius[self._rows(index_of_the_particle)]
        return 0

    def set_radius(self, index_of_the_particle, radius, npoints=None):
        self.radius[self._rows(index_of_the_particle)] = radius
        return 0

    def get_position(self, index_of_the_particle, x, y, z, npoints=None):
        x.value, y.value, z.value = self.position[self._rows(index_of_the_particle)].T
        return 0

    def set_position(self, index_of_the_particle, x, y, z, npoints=None):
        self.position[self._rows(index_of_the_particle)] = numpy.column_stack((x, y, z))
        self.acceleration = None
        return 0

    def get_velocity(self, index_of_the_particle, vx, vy, vz, npoints=None):
        vx.value, vy.value, vz.value = self.velocity[self._rows(index_of_the_particle)].T
        return 0

    def set_velocity(self, index_of_the_particle, vx, vy, vz, npoints=None):
        self.velocity[self._rows(index_of_the_particle)] = numpy.column_stack((vx, vy, vz))
        return 0

    def get_number_of_particles(self, number_of_particles):
        number_of_particles.value = len(self.mass)
        return 0

    def get_index_of_first_particle(self, index_of_the_particle):
        index_of_the_particle.value = self.number[0] if len(self.number) else -1
        return 0 if len(self.number) else -1

    def get_index_of_next_particle(self, index_of_the_particle, index_of_the_next_particle):
        row = self._rows(index_of_the_particle)[0] + 1
        index_of_the_next_particle.value = self.number[row] if row < len(self.number) else -1
        return 0 if row < len(self.number) else 1

    # ---- forces ----

    def _field(self):
        if self.field is None:
            chosen = {"mac.accuracy": repr(float(self.accuracy))} if self.accuracy > 0 else {}
            self.field = GravityField(math.sqrt(self.eps2), self.deck, chosen)
        return self.field

    def _accelerations(self):
        if self.acceleration is None:
            self.acceleration = self._field().at_particles(self.position, self.mass).acceleration
        return self.acceleration

    def get_acceleration(self, index_of_the_particle, ax, ay, az, npoints=None):
        ax.value, ay.value, az.value = self._accelerations()[self._rows(index_of_the_particle)].T
        return 0

    def get_potential(self, index_of_the_particle, potential, npoints=None):
        rows = self._rows(index_of_the_particle)
        potential.value = self._field().at_particles(self.position, self.mass, acceleration=False, potential=True).potential[rows]
        return 0

    def get_gravity_at_point(self, eps, x, y, z, ax, ay, az, npoints=None):
        points = numpy.column_stack((x, y, z))
        ax.value, ay.value, az.value = self._field().at_points(self.position, self.mass, points, eps).acceleration.T
        return 0

    def get_potential_at_point(self, eps, x, y, z, phi, npoints=None):
        points = numpy.column_stack((x, y, z))
        phi.value = self._field().at_points(self.position, self.mass, points, eps, acceleration=False, potential=True).potential
        return 0

    # ---- time ----

    def evolve_model(self, time):
        """To `time` exactly, forwards or backwards, in equal steps of at most the time step: kick, drift, kick. A step whose forces
        fail is taken back: what is here is the model at get_time."""
        if not math.isfinite(time):
            raise ValueError(f"evolve_model to {time}; a time was expected")
        begin, steps = self.time, math.ceil(abs(time - self.time) / self.time_step - 1e-9)
        dt = (time - begin) / max(steps, 1)
        for step in range(steps):
            kick = 0.5 * dt * self._accelerations()
            self.velocity += kick
            self.position += dt * self.velocity
            try:  # the next forces go where the last ones were
                self._field().at_particles(self.position, self.mass, acceleration=self.acceleration)
            except Exception:
                self.position -= dt * self.velocity
                self.velocity -= kick
                raise
            self.velocity += 0.5 * dt * self.acceleration
            self.time = begin + (step + 1) * dt
        self.time = time
        return 0

    def get_time(self, time):
        time.value = self.time
        return 0

    def get_kinetic_energy(self, kinetic_energy):
        kinetic_energy.value = 0.5 * (self.mass * (self.velocity**2).sum(axis=1)).sum()
        return 0

    def get_potential_energy(self, potential_energy):
        potential_energy.value = self._field().at_particles(self.position, self.mass, acceleration=False, energy=True).energy
        return 0

    def get_total_mass(self, mass):
        mass.value = self.mass.sum()
        return 0

    def get_center_of_mass_position(self, x, y, z):
        x.value, y.value, z.value = self.mass @ self.position / self.mass.sum()
        return 0

    def get_center_of_mass_velocity(self, vx, vy, vz):
        vx.value, vy.value, vz.value = self.mass @ self.velocity / self.mass.sum()
        return 0

    def get_total_radius(self, radius):
        centre = self.mass @ self.position / self.mass.sum()
        radius.value = numpy.sqrt(((self.position - centre) ** 2).sum(axis=1).max())
        return 0
