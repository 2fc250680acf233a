// See cuda_graph_gpu.cuh.
#include "engine/gpu/cuda_graph_gpu.cuh"

#include "settings/shared_settings.hpp"

#include <bit>

namespace graft::engine {

namespace {

/// Above this the launches hide behind the kernels (docs/lab/gpu/engine.md).
constexpr int64_t most_particles = 200000;
constexpr int most_batches = 8; // a graph of more has too many nodes

class Key {
  public:
    template <typename T>
    Key& add(T value) {
        if constexpr (std::is_floating_point_v<T>)
            words_.push_back(std::bit_cast<uint64_t>(static_cast<double>(value)));
        else if constexpr (std::is_pointer_v<T>)
            words_.push_back(reinterpret_cast<uintptr_t>(value));
        else
            words_.push_back(static_cast<uint64_t>(value));
        return *this;
    }
    Key& add_view(const particles::ArrayView& view) {
        return add(view.data).add(view.type).add(view.add).add(view.n).add(view.item_stride).add(view.component_stride);
    }
    Key& add_input(const ParticleInput& input) {
        add(input.n)
            .add(input.charge_all)
            .add(input.has_active)
            .add(input.has_target)
            .add(input.target_from_1);
        for (const particles::ArrayView& axis : input.position)
            add_view(axis);
        return add_view(input.charge).add_view(input.softening).add_view(input.active).add_view(input.target);
    }
    std::vector<uint64_t> words() && { return std::move(words_); }

  private:
    std::vector<uint64_t> words_;
};

void add_settings(Key& key, const settings::Settings& s) {
    settings::visit_shared_settings(s, [&](auto value) { key.add(value); });
    const settings::DeviceOptions& d = s.device;
    key.add(d.build).add(d.top_depth).add(d.walk).add(d.kernel).add(d.direct_stage).add(d.block_x);
    key.add(d.buffer).add(d.block_y).add(d.list_limit).add(d.memory_limit).add(d.reuse).add(d.skin);
}

bool on_device(const ParticleInput& input, int dimension) {
    bool all = !input.charge.present() || input.charge.on_device();
    for (int a = 0; a < dimension; ++a)
        all = all && input.position[a].on_device();
    return all && (!input.softening.present() || input.softening.on_device()) && !input.has_active &&
           (!input.has_target || input.target.on_device());
}

} // namespace

bool DeviceForce::may_replay() const {
    const settings::Settings& settings = job_.settings;
    const int wanted = settings.device.graph;
    if (wanted == 0 || lean_ || feeds() || job_.empty() || batches_ > most_batches ||
        (wanted < 0 && job_.n > most_particles))
        return false;
    if (job_.is_tree() && settings.tree_type == tree::TreeType::orb)
        return false;
    return on_device(job_.particles, settings.dimension) &&
           (!job_.with_points || on_device(job_.points, settings.dimension));
}

std::vector<uint64_t> DeviceForce::graph_key() const {
    Key key;
    add_settings(key, job_.settings);
    key.add_input(job_.particles).add(job_.with_points);
    if (job_.with_points)
        key.add_input(job_.points);
    for (const particles::ArrayView& axis : job_.outputs.acceleration)
        key.add_view(axis);
    key.add_view(job_.outputs.potential).add_view(job_.outputs.virial).add_view(job_.outputs.energy);
    key.add(job_.outputs.force);
    key.add(memory_.allocations()).add(batches_).add(last_n_);
    for (const double planned :
         {split_.longest, split_.lower, split_.upper}) // the launches hang on the splitting
        key.add(job_.settings.periodic ? planned : 0.0);
    key.add(reusing_).add(reusing_ ? kept_.status.levels : int64_t{0});
    return std::move(key).words();
}

/// What kept lists depend on, beside the particles.
std::vector<uint64_t> DeviceForce::lists_key() const {
    Key key;
    add_settings(key, job_.settings);
    key.add(job_.n).add(job_.per_particle).add(static_cast<int>(job_.pairs.softening));
    return std::move(key).words();
}

/// After a computation that needed no repair.
void DeviceForce::remember_graph_key() {
    if (!graph_)
        graph_ = std::make_unique<Graph>();
    graph_->last_key = may_replay() && !host_built_ && !split_.stale ? graph_key() : std::vector<uint64_t>{};
    if (graph_->replayed && graph_->key != graph_->last_key)
        graph_->drop(); // a repair has enlarged something
}

bool DeviceForce::replayed() const {
    return graph_ && graph_->replayed;
}

int64_t DeviceForce::graph_launches() const {
    return graph_ ? graph_->launches : 0;
}

/// True when the computation has been enqueued as a graph.
bool DeviceForce::replay() {
    if (!graph_)
        graph_ = std::make_unique<Graph>();
    Graph& graph = *graph_;
    graph.replayed = false;
    const std::vector<uint64_t> key = may_replay() ? graph_key() : std::vector<uint64_t>{};
    if (key.empty() || graph.refused || key != graph.last_key) {
        graph.drop();
        return false;
    }
    if (graph.executable == nullptr || graph.key != key) {
        graph.drop();
        if (!capture(graph))
            return false;
        graph.key = key;
    }
    GRAFT_CUDA(cudaGraphLaunch(graph.executable, queue_.stream()));
    graph.replayed = true;
    return true;
}

bool DeviceForce::capture(Graph& graph) {
    const cudaStream_t stream = queue_.stream();
    queue_.borrow(nullptr); // its own: others' work must not be captured
    GRAFT_CUDA(cudaStreamBeginCapture(queue_.stream(), cudaStreamCaptureModeRelaxed));
    capturing_ = true;
    bool enqueued = true;
    const int64_t before = queue_.launches;
    try {
        enqueue();
    } catch (...) { // whatever it was comes again without a graph
        enqueued = false;
    }
    capturing_ = false;
    cudaGraph_t captured = nullptr;
    bool good = cudaStreamEndCapture(queue_.stream(), &captured) == cudaSuccess && enqueued;
    graph.launches = queue_.launches - before;
    good = good && cudaGraphInstantiate(&graph.executable, captured, 0) == cudaSuccess;
    if (captured != nullptr)
        (void)cudaGraphDestroy(captured);
    queue_.borrow(stream);
    if (!good) {
        (void)cudaGetLastError();
        graph.executable = nullptr;
        graph.refused = true; // this driver, or a step that cannot be captured: go on without
    }
    return good;
}

} // namespace graft::engine
