// SPDX-License-Identifier: BSD-3-Clause
// The field of one target, from sums in the frame of its group, to arrays or records in internal units.
#pragma once

#include "forces/warp_tasks_gpu.cuh"

namespace graft::forces {

struct FieldPointers {
    double *ax, *ay, *az, *potential; // potential: may be null
    double unit;                      // 1 / charge_scale, exact
    bool add;                         // to what is there
    particles::ExportRow* records;    // instead of the arrays, or null
    const int32_t* origin;            // of targets, for records

    FieldPointers(DeviceField& field, const EvaluationView& view, const DeviceEvaluation& how,
                  const int32_t* target_origin)
        : ax(field.ax.data()), ay(field.ay.data()), az(field.az.data()),
          potential(field.potential.empty() ? nullptr : field.potential.data()), unit(1 / view.charge_scale),
          add(how.add), records(how.records), origin(target_origin) {}
    /// Where a target's field goes; asked for ahead of its sum.
    __device__ int64_t place_of(int64_t target) const { return records != nullptr ? origin[target] : target; }
    /// `has_some`: the target's field has been begun.
    __device__ void put(int64_t to, const double (&sum)[4], double square, double inverse,
                        bool has_some) const {
        if (records != nullptr) {
            double2* const halves = halves_of(to);
            const double2 xy = has_some ? halves[0] : double2{0, 0}, z = has_some ? halves[1] : double2{0, 0};
            halves[0] = {xy.x + sum[0] * square, xy.y + sum[1] * square};
            halves[1] = {z.x + sum[2] * square, 0.0};
            return;
        }
        const auto put_one = [=](double* out, double value) { out[to] = has_some ? out[to] + value : value; };
        put_one(ax, sum[0] * square);
        put_one(ay, sum[1] * square);
        put_one(az, sum[2] * square);
        if (potential != nullptr)
            put_one(potential, sum[3] * inverse);
    }
    /// The same for the records of a warp's lanes, where `there`: two lanes write a record together, a whole
    /// sector of memory a request.
    __device__ void put_records(bool there, int64_t to, const double (&sum)[4], double square,
                                bool has_some) const {
        const bool odd = threadIdx.x % 2 != 0;
        double x = sum[0] * square, y = sum[1] * square, z = sum[2] * square;
        if (there && has_some) {
            const double2 xy = halves_of(to)[0];
            x += xy.x, y += xy.y, z += halves_of(to)[1].x;
        }
        const auto of_other = [](auto value) { return __shfl_xor_sync(~0u, value, 1); };
        const double first = of_other(odd ? x : z), second = of_other(y);
        const int64_t other = of_other(there ? to : int64_t{-1}), own = there ? to : -1;
        if (const int64_t evens = odd ? other : own; evens >= 0)
            halves_of(evens)[odd] = odd ? double2{first, 0.0} : double2{x, y};
        if (const int64_t odds = odd ? own : other; odds >= 0)
            halves_of(odds)[odd] = odd ? double2{z, 0.0} : double2{first, second};
    }

  private:
    __device__ double2* halves_of(int64_t record) const {
        return reinterpret_cast<double2*>(records + record);
    }
};

struct Unscale {
    double square, inverse; // back to internal units: force, potential
    __device__ Unscale(const FieldPointers& field, const GroupFrame& frame)
        : square(frame.scale * (frame.scale * field.unit)), inverse(frame.scale * field.unit) {}
};

} // namespace graft::forces
