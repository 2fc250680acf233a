// SPDX-License-Identifier: BSD-3-Clause
// OpenMM compiles the kernels below at run time, in the language that its platforms share.
#include "cuda_kernel.hpp"

#include <openmm/OpenMMException.h>
#include <openmm/common/ComputeForceInfo.h>
#include <openmm/common/ContextSelector.h>
#include <openmm/cuda/CudaArray.h>
#include <openmm/cuda/CudaPlatform.h>
#include <openmm/cuda/CudaQueue.h>
#include <openmm/internal/ContextImpl.h>

#include <algorithm>
#include <map>

namespace graft::openmm {

using OpenMM::OpenMMException;
using OpenMM::Vec3;

namespace {

// Other forces are added at the same time, on other streams: atomically. A correction's distance is that of
// the positions in the System's order, as Calculator::correct has it.
const char* const source = R"(
DEVICE mm_ulong fixedPoint(double force) {
    return (mm_ulong) ((mm_long) (force * 4294967296.0));
}

KERNEL void graftGather(GLOBAL const real4* RESTRICT posq, GLOBAL const int* RESTRICT atomIndex,
                        GLOBAL double* RESTRICT place, GLOBAL int* RESTRICT slot
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
        slot[atomIndex[i]] = i;
    }
}

KERNEL void graftAdd(GLOBAL const double* RESTRICT push, GLOBAL const int* RESTRICT atomIndex,
                     GLOBAL mm_ulong* RESTRICT forceBuffers) {
    for (int i = GLOBAL_ID; i < NUM_ATOMS; i += GLOBAL_SIZE)
        for (int c = 0; c < 3; ++c)
            ATOMIC_ADD(&forceBuffers[i + c * PADDED_NUM_ATOMS], fixedPoint(push[3 * atomIndex[i] + c]));
}

KERNEL void graftCorrect(GLOBAL const double* RESTRICT place, GLOBAL const int* RESTRICT slot,
                         GLOBAL const int* RESTRICT pair, GLOBAL const double* RESTRICT product,
                         GLOBAL mm_ulong* RESTRICT forceBuffers, GLOBAL double* RESTRICT pairEnergy,
                         int pairs, int forces, double softening2, double ax, double bx, double by, double cx,
                         double cy, double cz) {
    for (int k = GLOBAL_ID; k < pairs; k += GLOBAL_SIZE) {
        const int first = pair[2 * k], second = pair[2 * k + 1];
        double d[3];
        for (int c = 0; c < 3; ++c)
            d[c] = place[3 * first + c] - place[3 * second + c];
#ifdef PERIODIC_EXCEPTIONS
        const double m = floor(d[2] / cz + 0.5);
        d[0] -= m * cx, d[1] -= m * cy, d[2] -= m * cz;
        const double l = floor(d[1] / by + 0.5);
        d[0] -= l * bx, d[1] -= l * by;
        d[0] -= ax * floor(d[0] / ax + 0.5);
#endif
        const double inverse2 = 1 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening2);
        const double energy = product[k] * sqrt(inverse2);
        pairEnergy[k] = energy;
        if (forces)
            for (int c = 0; c < 3; ++c) {
                const double push = d[c] * energy * inverse2;
                ATOMIC_ADD(&forceBuffers[slot[first] + c * PADDED_NUM_ATOMS], fixedPoint(push));
                ATOMIC_ADD(&forceBuffers[slot[second] + c * PADDED_NUM_ATOMS], fixedPoint(-push));
            }
    }
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
                                                   OpenMM::CudaContext& device)
    : CalcGraftForceKernel(name, platform), device_(device) {}

void CudaCalcGraftForceKernel::initialize(const Calculator& calculator) {
    device_.addForce(new Molecules(calculator.pairs())); // the device's from here on
}

void CudaCalcGraftForceKernel::make_arrays(const Calculator& calculator) {
    const auto n = static_cast<std::size_t>(device_.getNumAtoms());
    const std::size_t pairs = std::max<std::size_t>(calculator.pairs().size(), 1);
    place_.initialize(device_, n, sizeof(Vec3), "graftPlace");
    push_.initialize(device_, n, sizeof(Vec3), "graftPush");
    charge_.initialize<double>(device_, n, "graftCharge");
    slot_.initialize<int>(device_, n, "graftSlot");
    pair_.initialize<int>(device_, 2 * pairs, "graftPair");
    product_.initialize<double>(device_, pairs, "graftProduct");
    pair_energy_.initialize<double>(device_, pairs, "graftPairEnergy");
    queue_ = device_.createQueue();
    ready_ = device_.createEvent();
}

/// Not before the first call: OpenMM has no force buffers earlier.
void CudaCalcGraftForceKernel::make_kernels(const Calculator& calculator) {
    make_arrays(calculator);
    std::map<std::string, std::string> words{
        {"NUM_ATOMS", device_.intToString(device_.getNumAtoms())},
        {"PADDED_NUM_ATOMS", device_.intToString(device_.getPaddedNumAtoms())}};
    if (calculator.periodic_exceptions())
        words["PERIODIC_EXCEPTIONS"] = "1";
    const OpenMM::ComputeProgram program = device_.compileProgram(source, words);
    add_ = program->createKernel("graftAdd");
    add_->addArg(push_);
    add_->addArg(device_.getAtomIndexArray());
    add_->addArg(device_.getLongForceBuffer());
    correct_ = program->createKernel("graftCorrect");
    for (OpenMM::ComputeArray* array : {&place_, &slot_, &pair_, &product_})
        correct_->addArg(*array);
    correct_->addArg(device_.getLongForceBuffer());
    correct_->addArg(pair_energy_);
    for (int later = 0; later < 9; ++later)
        correct_->addArg();
    const OpenMM::ComputeKernel gather = program->createKernel("graftGather");
    gather->addArg(device_.getPosq());
    gather->addArg(device_.getAtomIndexArray());
    gather->addArg(place_);
    gather->addArg(slot_);
    if (device_.getUseMixedPrecision())
        gather->addArg(device_.getPosqCorrection());
    gather_ = gather; // all there
}

void CudaCalcGraftForceKernel::send_charges(const Calculator& calculator) {
    if (revision_ == calculator.revision())
        return;
    charge_.upload(calculator.charges());
    const std::vector<Calculator::Correction>& corrections = calculator.corrections();
    std::vector<int> pairs(pair_.getSize(), 0);
    std::vector<double> products(product_.getSize(), 0);
    for (std::size_t k = 0; k < corrections.size(); ++k) {
        pairs[2 * k] = corrections[k].first;
        pairs[2 * k + 1] = corrections[k].second;
        products[k] = corrections[k].product;
    }
    pair_.upload(pairs);
    product_.upload(products);
    pairs_ = static_cast<int>(corrections.size());
    revision_ = calculator.revision();
}

double CudaCalcGraftForceKernel::correct(const Calculator& calculator, bool forces, bool energy,
                                         const Vec3 box[3]) {
    if (pairs_ == 0)
        return 0;
    int argument = 6;
    correct_->setArg(argument++, pairs_);
    correct_->setArg(argument++, forces ? 1 : 0);
    for (double value :
         {calculator.softening2(), box[0][0], box[1][0], box[1][1], box[2][0], box[2][1], box[2][2]})
        correct_->setArg(argument++, value);
    correct_->execute(pairs_);
    double sum = 0;
    if (energy) {
        pair_energy_.download(energies_);
        for (int k = 0; k < pairs_; ++k)
            sum += energies_[static_cast<std::size_t>(k)];
    }
    return sum;
}

double CudaCalcGraftForceKernel::through_host(Calculator& calculator, bool forces, bool energy,
                                              const Vec3 box[3]) {
    place_.download(positions_);
    if (forces)
        forces_.assign(positions_.size(), Vec3());
    double sum = 0;
    {
        const OpenMM::ContextDeselector own(device_);
        sum = calculator.compute(positions_.data(), forces ? forces_.data() : nullptr, energy, box);
    }
    if (forces) {
        push_.upload(forces_);
        add_->execute(device_.getNumAtoms());
    }
    return sum;
}

double CudaCalcGraftForceKernel::execute(OpenMM::ContextImpl& context, Calculator& calculator, bool forces,
                                         bool energy) {
    const OpenMM::ContextSelector selector(device_);
    if (!gather_)
        make_kernels(calculator);
    if (!forces && !energy)
        return 0;
    send_charges(calculator);
    gather_->execute(device_.getNumAtoms());
    Vec3 box[3];
    context.getPeriodicBoxVectors(box[0], box[1], box[2]);
    ready_->enqueue();
    ready_->queueWait(queue_);
    const auto at = [this](OpenMM::ComputeArray& array) {
        return reinterpret_cast<double*>(device_.unwrap(array).getDevicePointer());
    };
    const Calculator::DeviceArrays arrays{at(place_), at(charge_), forces ? at(push_) : nullptr,
                                          device_.getDeviceIndex(),
                                          static_cast<OpenMM::CudaQueue&>(*queue_).getStream()};
    double sum = 0;
    if (!calculator.compute_on_device(arrays, energy ? &sum : nullptr, box))
        return through_host(calculator, forces, energy, box);
    if (forces)
        add_->execute(device_.getNumAtoms()); // Graft has waited for its stream
    return sum + correct(calculator, forces, energy, box);
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
