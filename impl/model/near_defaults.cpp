// Numbers of the near field's model for a CPU that nobody has calibrated: see near_time.hpp.
#include "model/near_time.hpp"

namespace graft::model {

namespace {

NearMachine make() {
    NearMachine near;
    near.kernels[0] = {0, 0, 0, 3, 1, 0.12e-9, 1.5e-9};
    near.kernels[1] = {0, 0, 2, 3, 1, 0.3e-9, 3e-9};
    near.kernels[2] = {0, 1, 2, 2, 1, 1.5e-9, 6e-9};
    size_t item = 0;
    for (const double bytes : {4.0, 8.0})
        for (int layout = 0; layout < near_layouts; ++layout) {
            NearLayoutCosts& one = near.layouts[item++];
            one.layout = layout, one.number_bytes = bytes, one.error = 0.5;
            one.collection = {2e-6, 5e-9, 2e-9, 1e-9, 1e-9, 1e-9, 2e-9};
            one.charges = {1e-6, 1e-9, 0, 0, 1e-9, 1e-9, 2e-9};
            one.kernel = {1e-6, 10e-9, 5e-9, 1e-9, 1, 1e-9, 4e-9};
            one.scatter = {0, 0, 1e-9, 0, 0, 1e-9, 2e-9};
        }
    return near;
}

} // namespace

const NearMachine& near_defaults() {
    static const NearMachine near = make();
    return near;
}

} // namespace graft::model
