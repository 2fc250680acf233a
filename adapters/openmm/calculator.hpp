// SPDX-License-Identifier: BSD-3-Clause
// A GraftForce at work, apart from any platform: a Graft context, the charges, and the exceptions' correction
//     sum over exceptions of (chargeProd - q_i q_j) constant f(r),   f = 1 / sqrt(r^2 + softening^2),
// which takes pairs that Graft summed in full out again (or scales them), at the distance of their two
// positions. Invariant: whatever throws, nothing has been added to the caller's forces.
#ifndef GRAFT_OPENMM_CALCULATOR_HPP
#define GRAFT_OPENMM_CALCULATOR_HPP

#include "graft_force.hpp"

#include <graft/graft.hpp>

#include <openmm/Vec3.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace graft::openmm {

class GRAFT_OPENMM_EXPORT Calculator {
  public:
    /// Loads libgraft, reads the deck, checks force against a System of so many particles. Throws
    /// OpenMMException.
    Calculator(const GraftForce& force, int particles);

    /// Takes charges and charge products again; throws where the number of particles or the pairs have
    /// changed.
    void update(const GraftForce& force);

    /// Adds forces (kJ/mol/nm) to `forces`, unless it is NULL, and returns the energy (kJ/mol), or 0 without
    /// want_energy. n positions (nm); box: the three box vectors in OpenMM's reduced form, read when the
    /// force is periodic.
    double compute(const OpenMM::Vec3* positions, OpenMM::Vec3* forces, bool want_energy,
                   const OpenMM::Vec3 box[3]);

    /// A GPU's arrays in the System's order: three doubles a particle, charges one.
    struct DeviceArrays {
        const double *positions, *charges;
        double* forces; // overwritten; NULL: not wanted
        int device;     // ordinal
        void* stream;   // which the positions are ready on, and the forces will be
    };
    /// The same on that GPU, in the CUDA context that is current, but without the exceptions' correction:
    /// that is the caller's, as are the forces' sum. False: this is computed on the processor (the deck wants
    /// it, or the box is one that GPUs do not do); call compute().
    bool compute_on_device(const DeviceArrays& arrays, double* energy, const OpenMM::Vec3 box[3]);

    struct Correction {
        int first, second;
        double product; // of charges, times the constant: what is missing from the full sum
    };
    const std::vector<Correction>& corrections() const { return corrections_; }
    const std::vector<double>& charges() const { return charges_; }
    /// Grows when charges and corrections change.
    int revision() const { return revision_; }
    double softening2() const { return softening2_; }
    bool periodic_exceptions() const { return periodic_exceptions_; }

    /// A call of this force has taken so long, the adapter's part included.
    void count_call(double call_s) {
        calls_ += 1;
        call_s_ += call_s;
    }
    /// The exceptions' particles, in their order.
    const std::vector<std::pair<int, int>>& pairs() const { return pairs_; }
    double figure(const std::string& key) const;
    std::string report() const;
    std::string log() const;

  private:
    void read_deck(const GraftForce& force, const Library& library);
    void set_box(const OpenMM::Vec3 box[3]);
    void make_corrections(const GraftForce& force);
    OpenMM::Vec3 separation(const Correction& pair, const OpenMM::Vec3* positions,
                            const OpenMM::Vec3 box[3]) const;
    double correct(const OpenMM::Vec3* positions, OpenMM::Vec3* forces, const OpenMM::Vec3 box[3]) const;
    static void keep_log(void* user, int32_t level, const char* text);

    std::vector<std::string> log_; // before the context, which writes here
    std::unique_ptr<Context> context_;
    std::vector<double> charges_;
    std::vector<std::pair<int, int>> pairs_; // of all exceptions, in their order
    std::vector<Correction> corrections_;
    std::array<OpenMM::Vec3, 3> box_;
    double constant_ = 0, softening2_ = 0;
    bool periodic_, periodic_exceptions_, box_known_ = false;
    bool may_use_device_ = true, must_use_device_ = false; // deck key backend, and what the library found
    void* stream_ = nullptr;
    int revision_ = 1;
    double calls_ = 0, call_s_ = 0, graft_s_ = 0;
};

} // namespace graft::openmm
#endif
