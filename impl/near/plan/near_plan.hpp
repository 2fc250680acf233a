// SPDX-License-Identifier: BSD-3-Clause
// A near field that is summed again and again: the boxes and lists of a caller, its points, a layout.
//
// Invariants: the plan owns copies of the structure and the coordinates (the caller's arrays may go after
// each call); outputs are written only after everything has succeeded; from the second execution on nothing
// is allocated; the same bits for any number of threads. Source: p2p-data-replication (phases, words).
#pragma once

#include "core/log.hpp"
#include "near/boxes.hpp"
#include "model/machine.hpp"
#include "settings/settings.hpp"

#include <array>
#include <memory>
#include <string>

namespace graft::near {


inline constexpr int32_t near_layout_auto = -1;

struct NearOptions {
    int32_t layout = near_layout_auto; // else a near::Layout
    double most_bytes = 0;             // of the layout's arrays; 0: no limit but the memory's
    double free_bytes = 0;             // of the host's memory; 0: asked of the system where it matters
    double executes = 0; // executions to be expected for one set of coordinates; 0: unknown, taken as 10
    int threads = 0;     // 0: what the host's OpenMP would use
    int32_t devices = 1; // GPUs of this host, from `device` on
    settings::Backend backend = settings::Backend::cpu;
    settings::DeviceOptions device;
    std::shared_ptr<const model::Machine> machine; // that the model reads; NULL: its built-in numbers
};

/// Where a caller's points are: one view an axis; no source views where the targets are the sources.
struct NearPoints {
    int64_t targets = 0, sources = 0;
    particles::ArrayView target[3], source[3];
    bool same = true;
    void* stream = nullptr; // device arrays are complete in the order of this cudaStream_t

    /// The first coordinates that only a GPU can read; NULL: none.
    const particles::ArrayView* on_device() const {
        for (const auto* set : {&target, &source})
            for (const particles::ArrayView& view : *set)
                if (view.present() && !view.on_host())
                    return &view;
        return nullptr;
    }
};

/// What one execution reads and writes, a view a component (and axis); not present: not wanted.
struct NearSums {
    std::array<particles::ArrayView, most_components> charge{};
    std::array<particles::ArrayView, most_components> potential{};
    std::array<std::array<particles::ArrayView, 3>, most_components> gradient{};
};

/// What to make a plan of. Exactly one of `structure` and `boxes` is given.
struct NearRequest {
    NearOptions options;
    Sums sums; // the plan copies the table
    NearPoints points;
    const StructureInput* structure = nullptr;
    const BoxOptions* boxes = nullptr;
};

struct NearReport {
    const char* backend = "cpu";
    Layout layout = Layout::tiled;
    std::string reason;               // of the choice
    std::string machine = "built-in"; // whose numbers the predictions come from
    Shape shape;
    BoxReport boxes; // height 0 and cells 0 where the caller's boxes are used
    Times times;     // as measured
    bool has_prediction = false;
    Times predicted;
    double prediction_error = 0; // the model's own, relative
    double create_s = 0, update_s = 0, import_s = 0, export_s = 0;
    int64_t executes = 0, updates = 0;
    int64_t bytes_layout = 0, bytes_structure = 0, bytes_copies = 0;
    int64_t bytes_kept = 0;    // of GPUs and page-locked, by the library, for the next plan
    double bytes_expected = 0; // of the layout, before it was built
    int32_t chunks = 1;
    int64_t allocations = 0; // by the last execution, from the context's memory
    bool executed = false;
    std::string device_name;
};

class NearPlan {
  public:
    /// Throws Error: argument and array (structure.hpp, boxes.hpp), value (a coordinate that is not finite,
    /// by name and item), memory, unsupported, device. Memory and log must outlive the plan.
    NearPlan(core::Memory& memory, const core::Log& log, const NearRequest& request);
    ~NearPlan();
    NearPlan(const NearPlan&) = delete;
    NearPlan& operator=(const NearPlan&) = delete;

    /// New coordinates of the same points in the same boxes. Throws as above; the plan then keeps the old
    /// ones where the new ones were refused (argument, value), and has to be updated again otherwise.
    void update(const NearPoints& points);
    /// Sums for new charges. Throws Error(value) for a charge or a sum that is not finite, array for outputs
    /// that overlap each other or the charges, argument for a missing charge.
    void execute(const NearSums& sums);
    /// execute() in two halves; on the CPU begin does all the work. Device arrays are read and written in the
    /// order of `stream`.
    void begin(const NearSums& sums, void* stream);
    void end();
    bool begun() const noexcept;

    const Sums& sums() const noexcept;
    int64_t targets() const noexcept;
    int64_t sources() const noexcept;
    bool same() const noexcept;
    /// The GPU that arrays on a device have to be on; -1: any.
    int32_t device() const noexcept;
    const NearReport& report() const noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace graft::near
