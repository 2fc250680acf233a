// OpenMM compiles the two kernels below at run time, in the language that its platforms share.
#include "cuda_kernel.hpp"

#include "calculator.hpp"

#include <openmm/OpenMMException.h>
#include <openmm/common/ComputeForceInfo.h>
#include <openmm/common/ContextSelector.h>
#include <openmm/cuda/CudaContext.h>
#include <openmm/cuda/CudaPlatform.h>
#include <openmm/internal/ContextImpl.h>

#include <algorithm>

namespace graft::openmm {

using OpenMM::OpenMMException;
using OpenMM::Vec3;

namespace {

// Other forces are added at the same time, on other streams: atomically.
const char* const source = R"(
KERNEL void graftGather(GLOBAL const real4* RESTRICT posq, GLOBAL const int* RESTRICT atomIndex,
                        GLOBAL double* RESTRICT place
#ifdef USE_MIXED_PRECISION
                        , GLOBAL const real4* RESTRICT posqCorrection
#endif
                        ) {
    for (int i = GLOBAL_ID; i < NUM_ATOMS; i += GLOBAL_SIZE) {
        const real4 p = posq[i];
        double x = p.x, y = p.y, z = p.z;
#ifdef USE_MIXED_PRECISION
        const real4 c = posqCorrection[i];
        x += c.x, y += c.y, z += c.z;
#endif
        GLOBAL double* const to = place + 3 * atomIndex[i];
        to[0] = x, to[1] = y, to[2] = z;
    }
}

KERNEL void graftAdd(GLOBAL const double* RESTRICT push, GLOBAL const int* RESTRICT atomIndex,
                     GLOBAL mm_ulong* RESTRICT forceBuffers) {
    for (int i = GLOBAL_ID; i < NUM_ATOMS; i += GLOBAL_SIZE)
        for (int c = 0; c < 3; ++c)
            ATOMIC_ADD(&forceBuffers[i + c * PADDED_NUM_ATOMS],
                       (mm_ulong) ((mm_long) (push[3 * atomIndex[i] + c] * 4294967296.0)));
}
)";

/// Particles of an exception belong to one molecule.
class Molecules : public OpenMM::ComputeForceInfo {
  public:
    explicit Molecules(const std::vector<std::pair<int, int>>& pairs) : pairs_(pairs) {}
    int getNumParticleGroups() override { return static_cast<int>(pairs_.size()); }
    void getParticlesInGroup(int index, std::vector<int>& particles) override {
        const auto& [a, b] = pairs_[static_cast<std::size_t>(index)];
        particles = {a, b};
    }

  private:
    std::vector<std::pair<int, int>> pairs_;
};

} // namespace

CudaCalcGraftForceKernel::CudaCalcGraftForceKernel(const std::string& name, const OpenMM::Platform& platform,
                                                   OpenMM::ComputeContext& device)
    : CalcGraftForceKernel(name, platform), device_(device) {}

void CudaCalcGraftForceKernel::initialize(const Calculator& calculator) {
    device_.addForce(new Molecules(calculator.pairs())); // the device's from here on
}

/// Not before the first call: OpenMM has no force buffers earlier.
void CudaCalcGraftForceKernel::make_kernels() {
    const auto n = static_cast<std::size_t>(device_.getNumAtoms());
    place_.initialize(device_, n, sizeof(Vec3), "graftPlace");
    push_.initialize(device_, n, sizeof(Vec3), "graftPush");
    const OpenMM::ComputeProgram program = device_.compileProgram(
        source, {{"NUM_ATOMS", device_.intToString(device_.getNumAtoms())},
                 {"PADDED_NUM_ATOMS", device_.intToString(device_.getPaddedNumAtoms())}});
    gather_ = program->createKernel("graftGather");
    gather_->addArg(device_.getPosq());
    gather_->addArg(device_.getAtomIndexArray());
    gather_->addArg(place_);
    if (device_.getUseMixedPrecision())
        gather_->addArg(device_.getPosqCorrection());
    add_ = program->createKernel("graftAdd");
    add_->addArg(push_);
    add_->addArg(device_.getAtomIndexArray());
    add_->addArg(device_.getLongForceBuffer());
}

double CudaCalcGraftForceKernel::execute(OpenMM::ContextImpl& context, Calculator& calculator, bool forces,
                                         bool energy) {
    const OpenMM::ContextSelector selector(device_);
    if (!gather_)
        make_kernels();
    gather_->execute(device_.getNumAtoms());
    place_.download(positions_);
    if (forces)
        forces_.assign(positions_.size(), Vec3());
    Vec3 box[3];
    context.getPeriodicBoxVectors(box[0], box[1], box[2]);
    double sum = 0;
    {
        const OpenMM::ContextDeselector own(device_); // Graft on the GPU works in a CUDA context of its own
        sum = calculator.compute(positions_.data(), forces ? forces_.data() : nullptr, energy, box);
    }
    if (forces) {
        push_.upload(forces_);
        add_->execute(device_.getNumAtoms());
    }
    return sum;
}

OpenMM::KernelImpl* CudaGraftKernelFactory::createKernelImpl(std::string name,
                                                             const OpenMM::Platform& platform,
                                                             OpenMM::ContextImpl& context) const {
    const auto& data = *static_cast<const OpenMM::CudaPlatform::PlatformData*>(context.getPlatformData());
    if (data.contexts.size() != 1)
        throw OpenMMException("GraftForce: a Context on " + std::to_string(data.contexts.size()) +
                              " GPUs; expected one (property DeviceIndex)");
    return new CudaCalcGraftForceKernel(name, platform, *data.contexts[0]);
}

} // namespace graft::openmm

extern "C" GRAFT_OPENMM_EXPORT void registerPlatforms() {}

extern "C" GRAFT_OPENMM_EXPORT void registerKernelFactories() {
    const std::string name = graft::openmm::CalcGraftForceKernel::Name();
    for (int i = 0; i < OpenMM::Platform::getNumPlatforms(); ++i) {
        OpenMM::Platform& platform = OpenMM::Platform::getPlatform(i);
        if (platform.getName() == "CUDA" && !platform.supportsKernels({name}))
            platform.registerKernelFactory(name, new graft::openmm::CudaGraftKernelFactory); // it owns it
    }
}
