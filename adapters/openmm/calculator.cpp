// SPDX-License-Identifier: BSD-3-Clause
// The calls of libgraft, and the exceptions' correction.
#include "calculator.hpp"

#include <openmm/OpenMMException.h>
#include <openmm/reference/SimTKOpenMMRealType.h> // ONE_4PI_EPS0, the host's own number

#include <chrono>
#include <cmath>

namespace graft::openmm {

using OpenMM::OpenMMException;
using OpenMM::Vec3;

namespace {

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What f throws as graft::Error leaves as OpenMMException.
template <class F>
auto translated(F f) -> decltype(f()) {
    try {
        return f();
    } catch (const Error& error) {
        throw OpenMMException(std::string("GraftForce: ") + error.what());
    }
}

/// A Vec3 is three doubles and nothing else.
static_assert(sizeof(Vec3) == 3 * sizeof(double) && alignof(Vec3) == alignof(double));
graft_array components(const Vec3* vectors, int64_t n) {
    return view(reinterpret_cast<const double*>(vectors), n, 3);
}
graft_array components(Vec3* vectors, int64_t n) {
    return view(reinterpret_cast<double*>(vectors), n, 3);
}

/// Whether an option that has no default was set.
bool given(const Options& options, const char* key) {
    try {
        return !options.get(key).empty();
    } catch (const Error& error) {
        if (error.status() == GRAFT_ERROR_ABSENT)
            return false;
        throw;
    }
}

bool same(const std::array<Vec3, 3>& a, const Vec3 b[3]) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

} // namespace

Calculator::Calculator(const GraftForce& force, int particles)
    : periodic_(force.usesPeriodicBoundaryConditions()),
      periodic_exceptions_(force.getExceptionsUsePeriodicBoundaryConditions()) {
    if (force.getNumParticles() != particles)
        throw OpenMMException("GraftForce: it has " + std::to_string(force.getNumParticles()) +
                              " particles, the System " + std::to_string(particles) +
                              "; call addParticle once for each particle of the System");
    if (periodic_exceptions_ && !periodic_)
        throw OpenMMException(
            "GraftForce: exceptions use periodic boundary conditions, the force does not; expected "
            "setUsesPeriodicBoundaryConditions(true)");
    translated([&] { read_deck(force, Library::load(force.getLibrary())); });
    for (int i = 0; i < particles; ++i)
        charges_.push_back(force.getParticleCharge(i));
    make_corrections(force);
}

void Calculator::read_deck(const GraftForce& force, const Library& library) {
    Options options(library);
    options.read_text(GraftForce::defaultDeck(), "GraftForce's default deck");
    options.set("interaction", "coulomb").set("constant", ONE_4PI_EPS0);
    options.read_text(force.getDeck(), "GraftForce's deck");
    for (const char* key : {"units.length", "units.mass", "units.time", "units.charge"})
        if (given(options, key))
            throw OpenMMException(
                "GraftForce's deck: " + std::string(key) +
                ": units are OpenMM's (nm, ps, e, kJ/mol); leave "
                "the section units out, and give another `constant` (kJ nm / mol / e^2) for another medium");
    if (given(options, "box.periodic") && options.get("box.periodic") != "none")
        throw OpenMMException(
            "GraftForce's deck: box.periodic: the box is the Context's; leave it out, and call "
            "setUsesPeriodicBoundaryConditions(true)");
    constant_ = options.get<double>("constant") * (options.get("interaction") == "gravity" ? -1 : 1);
    const std::string softening = options.get("softening.kind");
    const double length = options.get<double>("softening.length");
    if (softening == "spline" && length > 0 && force.getNumExceptions() > 0)
        throw OpenMMException(
            "GraftForce's deck: softening.kind spline together with exceptions; their correction knows "
            "none and plummer");
    softening2_ = softening == "plummer" ? length * length : 0;
    may_use_device_ = options.get("backend") != "cpu";
    must_use_device_ = options.get("backend") == "gpu";
    context_ = std::make_unique<Context>(options);
    context_->set_log(&Calculator::keep_log, &log_, GRAFT_LOG_INFO);
}

/// Of messages that differ in their numbers only, such as each step's, the last one is kept.
void Calculator::keep_log(void* user, int32_t, const char* message) {
    try {
        std::vector<std::string>& log = *static_cast<std::vector<std::string>*>(user);
        const std::string line = message;
        const auto words = [](const std::string& text) {
            return text.substr(0, text.find_first_of("0123456789"));
        };
        for (std::string& known : log)
            if (words(known) == words(line)) {
                known = line;
                return;
            }
        if (log.size() < 1000)
            log.push_back(line);
    } catch (...) { // lost memory ends the log; it must not cross C
    }
}

void Calculator::make_corrections(const GraftForce& force) {
    std::vector<std::pair<int, int>> pairs;
    std::vector<Correction> corrections;
    for (int i = 0, a, b; i < force.getNumExceptions(); ++i) {
        double product;
        force.getExceptionParameters(i, a, b, product);
        const int last = force.getNumParticles() - 1;
        if (a > last || b > last)
            throw OpenMMException("GraftForce: exception " + std::to_string(i) + " is of particles " +
                                  std::to_string(a) + " and " + std::to_string(b) +
                                  "; the last particle is " + std::to_string(last));
        pairs.emplace_back(a, b);
        product -= force.getParticleCharge(a) * force.getParticleCharge(b);
        if (product != 0)
            corrections.push_back({a, b, product * constant_});
    }
    pairs_ = std::move(pairs);
    corrections_ = std::move(corrections);
    ++revision_;
}

void Calculator::update(const GraftForce& force) {
    if (force.getNumParticles() != static_cast<int>(charges_.size()))
        throw OpenMMException("GraftForce: updateParametersInContext with " +
                              std::to_string(force.getNumParticles()) + " particles, the Context has " +
                              std::to_string(charges_.size()) +
                              "; Context::reinitialize takes another number");
    bool same_pairs = force.getNumExceptions() == static_cast<int>(pairs_.size());
    for (int i = 0, a, b; same_pairs && i < force.getNumExceptions(); ++i) {
        double product;
        force.getExceptionParameters(i, a, b, product);
        same_pairs = pairs_[static_cast<std::size_t>(i)] == std::make_pair(a, b);
    }
    if (!same_pairs)
        throw OpenMMException(
            "GraftForce: updateParametersInContext with other exceptions than the Context was made with; "
            "expected the same pairs in the same order (Context::reinitialize takes others)");
    make_corrections(force);
    for (std::size_t i = 0; i < charges_.size(); ++i)
        charges_[i] = force.getParticleCharge(static_cast<int>(i));
}

void Calculator::set_box(const Vec3 box[3]) {
    if (box_known_ && same(box_, box))
        return;
    graft_box b{};
    b.struct_size = sizeof b;
    for (int axis = 0; axis < 3; ++axis) {
        b.upper[axis] = box[axis][axis];
        b.periodic[axis] = 1;
    }
    b.tilt[0] = box[1][0];
    b.tilt[1] = box[2][0];
    b.tilt[2] = box[2][1];
    context_->set_box(b);
    box_ = {box[0], box[1], box[2]};
    box_known_ = true;
}

double Calculator::compute(const Vec3* positions, Vec3* forces, bool want_energy, const Vec3 box[3]) {
    double energy = 0;
    if (!charges_.empty() && (forces != nullptr || want_energy))
        translated([&] {
            if (periodic_)
                set_box(box);
            const auto n = static_cast<int64_t>(charges_.size());
            Results results;
            if (forces != nullptr)
                results.accelerations(add(components(forces, n))).as_force();
            if (want_energy)
                results.energy(energy);
            const double graft_begin_s = now_s();
            context_->compute(Particles().positions(components(positions, n)).charges(charges_), results);
            graft_s_ += now_s() - graft_begin_s;
        });
    energy += correct(positions, forces, box);
    return want_energy ? energy : 0;
}

bool Calculator::compute_on_device(const DeviceArrays& arrays, double* energy, const Vec3 box[3]) {
    if (!may_use_device_)
        return false;
    const auto there = [&](graft_array array) {
        return in_memory(array, GRAFT_MEMORY_DEVICE, arrays.device);
    };
    const double graft_begin_s = now_s();
    try {
        if (periodic_)
            set_box(box);
        if (arrays.stream != stream_)
            context_->set_stream(arrays.stream);
        stream_ = arrays.stream;
        const auto n = static_cast<int64_t>(charges_.size());
        Results results;
        if (arrays.forces != nullptr)
            results.accelerations(there(view(arrays.forces, n, 3))).as_force();
        if (energy != nullptr)
            results.energy(*energy);
        context_->compute(Particles()
                              .positions(there(view(arrays.positions, n, 3)))
                              .charges(there(view(arrays.charges, n))),
                          results);
    } catch (const Error& error) {
        may_use_device_ = must_use_device_ || error.status() != GRAFT_ERROR_UNSUPPORTED;
        if (may_use_device_)
            throw OpenMMException(std::string("GraftForce: ") + error.what());
        keep_log(&log_, 0, error.what());
        return false;
    }
    graft_s_ += now_s() - graft_begin_s;
    return true;
}

/// From the second particle to the first; the nearest image for periodic exceptions (exact where the image
/// that is nearest along the reduced box vectors is the nearest one: distances below half the shortest edge,
/// as for OpenMM's own).
Vec3 Calculator::separation(const Correction& pair, const Vec3* positions, const Vec3 box[3]) const {
    Vec3 d = positions[pair.first] - positions[pair.second];
    if (periodic_exceptions_)
        for (int axis = 2; axis >= 0; --axis)
            d -= box[axis] * std::floor(d[axis] / box[axis][axis] + 0.5);
    return d;
}

double Calculator::correct(const Vec3* positions, Vec3* forces, const Vec3 box[3]) const {
    double energy = 0;
    for (const Correction& pair : corrections_) {
        const Vec3 d = separation(pair, positions, box);
        const double inverse2 = 1 / (d.dot(d) + softening2_);
        const double pair_energy = pair.product * std::sqrt(inverse2);
        energy += pair_energy;
        if (forces != nullptr) {
            const Vec3 force = d * (pair_energy * inverse2);
            forces[pair.first] += force;
            forces[pair.second] -= force;
        }
    }
    return energy;
}

std::string Calculator::log() const {
    std::string text;
    for (const std::string& line : log_)
        text += line + "\n";
    return text;
}

double Calculator::figure(const std::string& key) const {
    if (key == "adapter.calls")
        return calls_;
    if (key == "adapter.call_s")
        return call_s_;
    if (key == "adapter.graft_s")
        return graft_s_;
    return translated([&] { return context_->query(key); });
}

std::string Calculator::report() const {
    return translated([&] { return context_->query_text(); });
}

} // namespace graft::openmm
