// SPDX-License-Identifier: BSD-3-Clause
// Export on the device: the raw field to the host's arrays. Device arrays are written by kernels when the
// status says so; what goes to host arrays travels with the computation, and the host writes it in the end.
#pragma once

#include "engine/gpu/computation_gpu.cuh"
#include "forces/evaluate_gpu.cuh"
#include "lists/lists_gpu.cuh"
#include "particles/scatter_gpu.cuh"

#include <vector>

namespace graft::engine {

/// What there is to be exported.
struct RawResults {
    const forces::DeviceField& field;
    const double* charge;  // of the targets, for forces
    const int32_t* origin; // target -> host item; NULL: itself
};

class WriteStep {
  public:
    explicit WriteStep(backend::DeviceMemory& memory);

    /// Room for the results of host arrays, as far as the job says.
    void hold(Computation& c, const RawResults& raw);
    /// Before the evaluation: where it is to put accelerations itself, as records in the node lists' memory;
    /// NULL: nowhere.
    particles::ExportRow* begin(const Computation& c, const lists::DeviceLists& lists, int batches);
    /// No evaluation has written records.
    void forget_records() { to_records_ = false; }
    // Enqueued, each.
    /// Before results(): stops the computation by the first result that would be no finite number, as far as
    /// the device can tell; or by accelerations and potentials alone.
    void look(Computation& c, const RawResults& raw, const lists::DeviceLists& lists);
    void look_at_fields(Computation& c, const RawResults& raw, const lists::DeviceLists& lists);
    /// To device arrays, and on their way to host arrays.
    void results(Computation& c, const RawResults& raw, const lists::DeviceLists& lists);
    /// Over ranks in two halves, as all agree in between; without targets nothing is on its way.
    void stage(Computation& c, const RawResults& raw);
    void to_device_arrays(Computation& c, const RawResults& raw);
    /// Virial and energy to device arrays.
    void sums(Computation& c);
    /// After a wait for stage(): results that are added to host arrays, where the sums are the host's. Throws Error(value)
    /// for one that is no finite number.
    void check_added_fields(Computation& c);
    /// After the wait: all that goes to host arrays. Throws Error(value) for a sum that is no finite number; over ranks
    /// check_added_fields() has looked before they agreed.
    void write(Computation& c);
    /// After a computation that has stopped by one of its results.
    [[noreturn]] void raise_bad_result(Computation& c);

  private:
    struct Staged { // a result on its way to a host array: at `offset` of result_
        particles::ArrayView view;
        particles::ElementType type;
        int64_t offset;
        int array; // its number among the results
    };
    int64_t hold(Computation& c, const particles::DeviceRealExport* all, int count);
    void stage(Computation& c, const particles::DeviceRealExport* all, int count, const int32_t* origin);
    template <typename Body>
    void for_staged(Computation& c, const Body& body);
    template <typename Body>
    void for_staged_pieces(Computation& c, const Body& body);

    backend::DeviceBuffer<char> result_;
    backend::PinnedBuffer<char> host_result_;
    std::vector<Staged> staged_;
    int64_t staged_bytes_ = 0;
    bool to_records_ = false; // this computation's evaluation writes the records of results
    backend::Event piece_done_[2];
};

} // namespace graft::engine
