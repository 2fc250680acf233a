// SPDX-License-Identifier: BSD-3-Clause
// GraftForce in XML.
#ifndef GRAFT_OPENMM_FORCE_PROXY_HPP
#define GRAFT_OPENMM_FORCE_PROXY_HPP

#include <openmm/serialization/SerializationProxy.h>

namespace graft::openmm {

class GraftForceProxy : public OpenMM::SerializationProxy {
  public:
    GraftForceProxy() : OpenMM::SerializationProxy("GraftForce") {}
    void serialize(const void* object, OpenMM::SerializationNode& node) const override;
    void* deserialize(const OpenMM::SerializationNode& node) const override;
};

} // namespace graft::openmm
#endif
