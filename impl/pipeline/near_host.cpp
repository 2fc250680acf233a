// The near field on this host: contiguous copies of the caller's arrays in the arithmetic's type, and a
// layout.
#include "core/timer.hpp"
#include "kernels/near/layout.hpp"
#include "pipeline/near_side.hpp"
#include "pipeline/near_views.hpp"

#include <limits>
#include <vector>

namespace graft::pipeline {

namespace {

template <typename T>
class HostSide : public NearSide {
  public:
    explicit HostSide(const NearSideInput& input)
        : structure_(input.structure),
          sums_(input.sums), executor_{input.memory, backend::resolve_threads(input.options.threads)} {
        for (int i = 0; i < 6; ++i)
            coordinates_.emplace_back(input.memory, "coordinates of a near field");
        for (int c = 0; c < sums_.components; ++c)
            charges_.emplace_back(input.memory, "charges of a near field");
        for (int c = 0; c < sums_.components * outputs_a_component(); ++c)
            fields_.emplace_back(input.memory, "sums of a near field");
        near::LayoutOptions options;
        options.most_bytes = static_cast<int64_t>(input.options.most_bytes);
        options.threads = executor_.threads;
        layout_ = near::make_layout<T>(input.layout, structure_, sums_, options, input.memory);
    }

    void set_points(const NearPoints& points) override {
        core::Timer timer;
        const near::Coordinates<T> targets = import_axes(points.target, 0);
        const near::Coordinates<T> sources = structure_.same ? targets : import_axes(points.source, 1);
        n_targets_ = points.targets;
        n_sources_ = points.same ? points.targets : points.sources;
        import_points_s_ = timer.lap();
        layout_->set_points(targets, sources);
    }

    void begin(const NearSums& sums, void*) override {
        core::Timer timer;
        near::Charges<T> charges;
        for (int c = 0; c < sums_.components; ++c) {
            core::Buffer<T>& buffer = charges_[index(c)];
            buffer.resize(n_sources_);
            import_values(executor_, sums.charge[index(c)], {"charge", c}, most_charge(sums_.precision),
                          buffer.data());
            charges.component[index(c)] = buffer.data();
        }
        import_s_ = timer.lap();
        layout_->set_charges(charges);
        layout_->run(wanted(sums));
        timer.lap();
        write(sums);
        export_s_ = timer.lap();
    }

    void end() override {}

    void report(NearReport& report) const override {
        report.times = layout_->times();
        report.import_s = import_s_;
        report.export_s = export_s_;
        report.bytes_layout = layout_->bytes();
        report.chunks = layout_->chunks();
        report.bytes_copies = 0;
        for (const auto* list : {&coordinates_, &charges_, &fields_})
            for (const core::Buffer<T>& buffer : *list)
                report.bytes_copies += buffer.capacity() * static_cast<int64_t>(sizeof(T));
    }

  private:
    static size_t index(int i) { return static_cast<size_t>(i); }
    int outputs_a_component() const { return 1 + sums_.dimension; }
    core::Buffer<T>& field(int component, int output) {
        return fields_[index(component * outputs_a_component() + output)];
    }

    near::Coordinates<T> import_axes(const particles::ArrayView (&view)[3], int set) {
        const T* at[3] = {nullptr, nullptr, nullptr};
        for (int a = 0; a < sums_.dimension; ++a) {
            core::Buffer<T>& buffer = coordinates_[index(3 * set + a)];
            buffer.resize(view[a].n);
            import_values(executor_, view[a], {near_axis_names[set][a]}, most_coordinate(sums_.precision),
                          buffer.data());
            at[a] = buffer.data();
        }
        return {at[0], at[1], at[2]};
    }

    T* room(const particles::ArrayView& view, int component, int output) {
        if (!view.present())
            return nullptr;
        core::Buffer<T>& buffer = field(component, output);
        buffer.resize(n_targets_);
        return buffer.data();
    }

    near::Fields<T> wanted(const NearSums& sums) {
        near::Fields<T> fields;
        for (int c = 0; c < sums_.components; ++c) {
            fields.potential[index(c)] = room(sums.potential[index(c)], c, 0);
            for (int a = 0; a < sums_.dimension; ++a)
                fields.gradient[index(c)][index(a)] = room(sums.gradient[index(c)][index(a)], c, 1 + a);
        }
        return fields;
    }

    void write_one(const NearSums& sums, const particles::ArrayView& view, int component, int output) {
        const bool all = structure_.targets() == n_targets_; // points outside of all boxes stay as they are
        if (view.present())
            export_values<T>(executor_, field(component, output).data(),
                             all ? std::span<const int64_t>() : structure_.target_index, sums.add, view);
    }

    void write(const NearSums& sums) {
        if (structure_.targets() == 0)
            return;
        for (int c = 0; c < sums_.components; ++c) {
            write_one(sums, sums.potential[index(c)], c, 0);
            for (int a = 0; a < sums_.dimension; ++a)
                write_one(sums, sums.gradient[index(c)][index(a)], c, 1 + a);
        }
    }

    near::Structure structure_;
    const near::Sums& sums_;
    backend::Executor executor_;
    std::vector<core::Buffer<T>> coordinates_, charges_, fields_;
    std::unique_ptr<near::HostLayout<T>> layout_;
    int64_t n_targets_ = 0, n_sources_ = 0;
    double import_points_s_ = 0, import_s_ = 0, export_s_ = 0;
};

} // namespace

double most_coordinate(near::Precision precision) {
    return precision == near::Precision::fp64 ? 1e150 : 1e18; // squares of differences must not overflow
}

double most_charge(near::Precision precision) {
    return precision == near::Precision::fp64 ? std::numeric_limits<double>::max()
                                              : static_cast<double>(std::numeric_limits<float>::max());
}

std::unique_ptr<NearSide> make_near_host(const NearSideInput& input) {
    if (input.sums.precision == near::Precision::fp32)
        return std::make_unique<HostSide<float>>(input);
    return std::make_unique<HostSide<double>>(input);
}

} // namespace graft::pipeline
