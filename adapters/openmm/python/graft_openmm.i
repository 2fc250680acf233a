/* SPDX-License-Identifier: BSD-3-Clause */
// GraftForce for Python: `import graft_openmm` makes it known to OpenMM and gives graft_openmm.GraftForce, which goes into a System
// like openmm's own forces. Numbers may carry openmm.unit units. Failures raise openmm.OpenMMException.
%module graft_openmm

%import(module="openmm") "openmm_types.i"
%include "std_string.i"

%{
#include "graft_force.hpp"
#include <OpenMM.h>
%}

// A double argument with units is converted to OpenMM's own (nm, e, kJ/mol).
%fragment("graft_number", "header") {
static bool graft_number(PyObject* object, double* value) {
    if (PyObject_HasAttrString(object, "value_in_unit_system")) {
        PyObject* unit = PyImport_ImportModule("openmm.unit");
        PyObject* system = unit ? PyObject_GetAttrString(unit, "md_unit_system") : nullptr;
        PyObject* number = system ? PyObject_CallMethod(object, "value_in_unit_system", "O", system) : nullptr;
        Py_XDECREF(unit);
        Py_XDECREF(system);
        if (number == nullptr)
            return false;
        *value = PyFloat_AsDouble(number);
        Py_DECREF(number);
    } else
        *value = PyFloat_AsDouble(object);
    return !PyErr_Occurred();
}
}
%typemap(in, fragment="graft_number") double {
    if (!graft_number($input, &$1)) SWIG_fail;
}
%typemap(in, numinputs=0) int& particle1 (int value), int& particle2 (int value), double& chargeProd (double value) {
    $1 = &value;
}
%typemap(argout) int& particle1, int& particle2 {
    $result = SWIG_AppendOutput($result, PyLong_FromLong(*$1));
}
%typemap(argout) double& chargeProd {
    $result = SWIG_AppendOutput($result, PyFloat_FromDouble(*$1));
}

%exception {
    try {
        $action
    } catch (const std::exception& error) {
        PyObject* module = PyImport_ImportModule("openmm");
        PyObject* type = module ? PyObject_GetAttrString(module, "OpenMMException") : nullptr;
        PyErr_SetString(type ? type : PyExc_RuntimeError, error.what());
        Py_XDECREF(type);
        Py_XDECREF(module);
        SWIG_fail;
    }
}

%feature("autodoc", "1");

namespace graft::openmm {

class GraftForce : public OpenMM::Force {
  public:
    GraftForce();
    int addParticle(double charge);
    int getNumParticles() const;
    double getParticleCharge(int index) const;
    void setParticleCharge(int index, double charge);
    int addException(int particle1, int particle2, double chargeProd, bool replace = false);
    int addExclusion(int particle1, int particle2);
    int getNumExceptions() const;
    void getExceptionParameters(int index, int& particle1, int& particle2, double& chargeProd) const;
    void setExceptionParameters(int index, int particle1, int particle2, double chargeProd);
    void moveElectrostatics(OpenMM::NonbondedForce& nonbonded);
    void setUsesPeriodicBoundaryConditions(bool periodic);
    bool getExceptionsUsePeriodicBoundaryConditions() const;
    void setExceptionsUsePeriodicBoundaryConditions(bool periodic);
    const std::string& getDeck() const;
    void setDeck(const std::string& yaml);
    static std::string defaultDeck();
    const std::string& getLibrary() const;
    void setLibrary(const std::string& path);
    void updateParametersInContext(OpenMM::Context& context);
    double getFigure(OpenMM::Context& context, const std::string& key) const;
    std::string getReport(OpenMM::Context& context) const;
    std::string getLog(OpenMM::Context& context) const;

    %extend {
        // A System hands out forces it does not know as openmm.Force; this is the way back.
        static graft::openmm::GraftForce& cast(OpenMM::Force& force) {
            return dynamic_cast<graft::openmm::GraftForce&>(force);
        }
        static bool isinstance(OpenMM::Force& force) {
            return dynamic_cast<graft::openmm::GraftForce*>(&force) != nullptr;
        }
    }
};

void registerGraft();

} // namespace graft::openmm

%pythoncode %{
registerGraft()
%}
