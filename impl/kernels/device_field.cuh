// The field of one target, from sums in the frame of its group, to the caller's arrays in internal units.
#pragma once

#include "kernels/device_units.cuh"

namespace graft::kernels {

struct FieldPointers {
    double *ax, *ay, *az, *potential; // potential: may be null
    double unit;                      // 1 / charge_scale, exact
    bool add;                         // to what is there

    FieldPointers(DeviceField& field, const EvaluationView& view, bool adds)
        : ax(field.ax.data()), ay(field.ay.data()), az(field.az.data()),
          potential(field.potential.empty() ? nullptr : field.potential.data()), unit(1 / view.charge_scale),
          add(adds) {}
    /// `has_some`: the target's field has been begun.
    __device__ void put(int64_t to, const double (&sum)[4], double square, double inverse,
                        bool has_some) const {
        const auto put_one = [=](double* out, double value) { out[to] = has_some ? out[to] + value : value; };
        put_one(ax, sum[0] * square);
        put_one(ay, sum[1] * square);
        put_one(az, sum[2] * square);
        if (potential != nullptr)
            put_one(potential, sum[3] * inverse);
    }
};

struct Unscale {
    double square, inverse; // back to internal units: force, potential
    __device__ Unscale(const FieldPointers& field, const GroupFrame& frame)
        : square(frame.scale * (frame.scale * field.unit)), inverse(frame.scale * field.unit) {}
};

} // namespace graft::kernels
