// SPDX-License-Identifier: BSD-3-Clause
// GraftForce: electrostatics of an OpenMM System by Graft, U = sum over pairs of q_i q_j / (4 pi epsilon_0
// r), with all periodic images or none, and no cutoff. An OpenMM::Force like any other: add it to a System,
// which then owns it; force groups, XML (XmlSerializer), updateParametersInContext and Context::reinitialize
// work as usual. Method names follow OpenMM's, not Graft's.
//
// Units are OpenMM's: nm, elementary charges, kJ/mol. Failures throw OpenMMException and leave the Context as
// it was. Exceptions are those of NonbondedForce: the charge product of a pair replaces the product of its
// two charges (0 leaves the pair out); what is replaced is the pair at the distance of its two positions, its
// other periodic images stay.
#ifndef GRAFT_OPENMM_GRAFT_FORCE_HPP
#define GRAFT_OPENMM_GRAFT_FORCE_HPP

#include <openmm/Context.h>
#include <openmm/Force.h>
#include <openmm/NonbondedForce.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#define GRAFT_OPENMM_EXPORT __attribute__((visibility("default")))

namespace graft::openmm {

class GRAFT_OPENMM_EXPORT GraftForce : public OpenMM::Force {
  public:
    /// No particles, not periodic, the default deck, the library where GRAFT_LIBRARY and the usual places
    /// say.
    GraftForce();

    /// One for each particle of the System, in its order. charge in elementary charges. Returns the
    /// particle's index.
    int addParticle(double charge);
    int getNumParticles() const { return static_cast<int>(charges_.size()); }
    double getParticleCharge(int index) const;
    void setParticleCharge(int index, double charge);

    /// A pair whose charge product is chargeProd (e^2) instead of the product of its charges; 0: the pair
    /// does not interact. A pair that has one already: replace, or OpenMMException. Returns the exception's
    /// index.
    int addException(int particle1, int particle2, double chargeProd, bool replace = false);
    /// addException with a charge product of 0.
    int addExclusion(int particle1, int particle2) { return addException(particle1, particle2, 0); }
    int getNumExceptions() const { return static_cast<int>(exceptions_.size()); }
    void getExceptionParameters(int index, int& particle1, int& particle2, double& chargeProd) const;
    void setExceptionParameters(int index, int particle1, int particle2, double chargeProd);

    /// Moves electrostatics here from a NonbondedForce: its charges and charge products are added (this force
    /// must have no particles yet) and set to 0 there; Lennard-Jones terms stay. Ewald and PME there become
    /// CutoffPeriodic (there is nothing left to sum); this force becomes periodic if that one was. Refused,
    /// with nothing changed: parameter offsets.
    void moveElectrostatics(OpenMM::NonbondedForce& nonbonded);

    /// All periodic images of the Context's box (its boundary conducting, as in PME), or no box at all (the
    /// default).
    bool usesPeriodicBoundaryConditions() const override { return periodic_; }
    void setUsesPeriodicBoundaryConditions(bool periodic) { periodic_ = periodic; }
    /// Exceptions take the nearest image of a pair. Default false: molecules are whole, as OpenMM keeps them.
    bool getExceptionsUsePeriodicBoundaryConditions() const { return periodicExceptions_; }
    void setExceptionsUsePeriodicBoundaryConditions(bool periodic) { periodicExceptions_ = periodic; }

    /// A Graft deck (YAML text): accuracy, precision, softening, threads ... `graft deck --explain` lists the
    /// keys. Read when a Context is made; before it, defaultDeck() is. `constant` (kJ nm / mol / e^2) divided
    /// by a dielectric constant is a uniform medium; `units` are refused.
    const std::string& getDeck() const { return deck_; }
    void setDeck(const std::string& yaml) { deck_ = yaml; }
    /// What holds where the deck is silent.
    static std::string defaultDeck();
    /// Path of libgraft.so.1; "" (the default): GRAFT_LIBRARY, then the usual places. Not written to XML: a
    /// path is a machine's.
    const std::string& getLibrary() const { return library_; }
    void setLibrary(const std::string& path) { library_ = path; }

    /// Brings charges, charge products of exceptions changed here to a Context that exists. Which pairs are
    /// exceptions, the deck and the box's kind need Context::reinitialize.
    void updateParametersInContext(OpenMM::Context& context);
    /// A figure of the last evaluation in a Context, by Graft's key ("time_s.total", "interactions.p2p",
    /// ...), or of the adapter: "adapter.calls", "adapter.call_s" (seconds in this force since the Context
    /// was made), "adapter.graft_s" (of these, in libgraft).
    double getFigure(OpenMM::Context& context, const std::string& key) const;
    /// All of Graft's figures of the last evaluation, as JSON.
    std::string getReport(OpenMM::Context& context) const;
    /// What Graft had to say so far (level info and above), a line each: the backend chosen, a net charge and
    /// its background ... Of lines that differ in their numbers only, the last one.
    std::string getLog(OpenMM::Context& context) const;

  protected:
    OpenMM::ForceImpl* createImpl() const override;

  private:
    struct Exception {
        int particle1, particle2;
        double chargeProd;
    };
    void checkParticle(int index, const char* what) const;
    void checkException(int index) const;
    std::vector<double> charges_;
    std::vector<Exception> exceptions_;
    std::map<std::pair<int, int>, int> exceptionOf_; // smaller index first
    std::string deck_, library_;
    bool periodic_ = false, periodicExceptions_ = false;
};

/// Makes GraftForce known to all platforms that are loaded now, and its XML. Loading the plugin and making a
/// Context do it, too.
GRAFT_OPENMM_EXPORT void registerGraft();

} // namespace graft::openmm
#endif
