// SPDX-License-Identifier: BSD-3-Clause
// What OpenMM asks of a plugin (PluginInitializer.h): Platform::loadPluginsFromDirectory and
// loadPluginLibrary call registerPlatforms() and registerKernelFactories().
#include "force_proxy.hpp"
#include "graft_force.hpp"
#include "reference_kernel.hpp"

#include <openmm/Platform.h>
#include <openmm/PluginInitializer.h>
#include <openmm/reference/ReferencePlatform.h>

namespace graft::openmm {

void registerGraft() {
    static const GraftForceProxy* proxy = [] {
        auto* made = new GraftForceProxy; // OpenMM keeps the pointer until the process ends
        OpenMM::SerializationProxy::registerProxy(typeid(GraftForce), made);
        return made;
    }();
    static_cast<void>(proxy);
    for (int i = 0; i < OpenMM::Platform::getNumPlatforms(); ++i) {
        OpenMM::Platform& platform = OpenMM::Platform::getPlatform(i);
        const std::string name = CalcGraftForceKernel::Name();
        if (dynamic_cast<OpenMM::ReferencePlatform*>(&platform) != nullptr &&
            !platform.supportsKernels({name}))
            platform.registerKernelFactory(name, new ReferenceGraftKernelFactory); // the platform owns it
    }
}

} // namespace graft::openmm

extern "C" GRAFT_OPENMM_EXPORT void registerPlatforms() {}

extern "C" GRAFT_OPENMM_EXPORT void registerKernelFactories() {
    graft::openmm::registerGraft();
}
