/* SPDX-License-Identifier: BSD-3-Clause */
// OpenMM's classes as far as the interface names them: enough for SWIG to hand over the objects of Python's module openmm, whose
// own interface files not every package of OpenMM brings.
namespace OpenMM {
class Force {
  protected:
    Force();
};
class NonbondedForce : public Force {};
class Context {
  private:
    Context();
};
} // namespace OpenMM
