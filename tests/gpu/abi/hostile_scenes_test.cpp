// SPDX-License-Identifier: BSD-3-Clause
// Random calls (GRAFT_TEST_SCENES of them, from GRAFT_TEST_SEED): each by the CPU, by the GPU and, on some
// targets, by sums in long double; refused calls are refused alike and write nothing.
#include "hostile_scene.hpp"

#include <memory>

using namespace graft::test;

namespace {

int64_t number_of(const char* name, int64_t usual) {
    const char* const given = std::getenv(name);
    return given != nullptr ? std::atoll(given) : usual;
}

/// A call's arrays; made twice from the same dice for host and device, with other places.
struct Arrays {
    std::unique_ptr<Placed> position[3], charge, softening, active, target, points, acceleration, potential,
        energy, virial;
};

struct Scene {
    int64_t n = 0, targets = 0, dimension = 3;
    bool single = false, split = false, by_points = false, field = true, potential = false, sums = false,
         add = false, force = false, bad = false, from_1 = false;
    Places places;
    std::vector<double> xyz, charge, softening, active, target, points;
    double charge_all = 0;
    bool of_target(int64_t i) const {
        if (!active.empty())
            return active[static_cast<size_t>(i)] != 0;
        return target.empty() || std::find(target.begin(), target.end(),
                                           static_cast<double>(i + (from_1 ? 1 : 0))) != target.end();
    }
};

struct Wish { // of the options
    bool direct = false, fp64 = false, same_bits = true, each_length = false, limited = false;
    bool may_lack = false; // a kernel of a paper, which does not do everything
    std::string softening = "none";
    double length = 0;
    int dimension = 3;
    std::string words;
};

class HostileScenes : public DeviceHost {
  protected:
    void TearDown() override {
        if (api != nullptr)
            api->context_destroy(&other);
        DeviceHost::TearDown();
    }
    void say(Wish& wish, const char* key, const std::string& value) {
        set(key, value.c_str());
        wish.words += std::string(key) + ": " + value + "; ";
    }
    Wish choose_options(Dice& dice);
    Scene make_scene(Dice& dice, const Wish& wish);
    void spoil(Dice& dice, Scene& scene);
    Arrays place(Dice& dice, const Scene& scene, bool on_gpu);
    int32_t run(graft_context* where, const Scene& scene, Arrays& arrays, bool halves);
    void compare(const Wish& wish, const Scene& scene, const Arrays& cpu, const Arrays& gpu);

    graft_context* other = nullptr; // on the CPU
    double worst = 0;
};

Wish HostileScenes::choose_options(Dice& dice) {
    Wish wish;
    api->options_destroy(&options);
    EXPECT_EQ(api->options_create(&options), GRAFT_OK);
    wish.direct = dice.one_in(4);
    say(wish, "method", wish.direct ? "direct" : "tree");
    const char* const precision = dice.of({"fp32", "mixed", "mixed", "fp64"});
    wish.fp64 = precision == std::string("fp64");
    say(wish, "precision", precision);
    wish.dimension = dice.one_in(6) ? 2 : 3;
    say(wish, "dimension", std::to_string(wish.dimension));
    wish.softening = dice.of({"none", "none", "plummer", "plummer", "spline"});
    say(wish, "softening.kind", wish.softening);
    if (wish.softening != "none") {
        wish.length = dice.of({0.0, 1e-3, 0.05, 0.3});
        wish.each_length = dice.one_in(3);
        say(wish, "softening.length", std::to_string(wish.length));
    }
    say(wish, "interaction", dice.of({"gravity", "coulomb"}));
    say(wish, "order", std::to_string(dice.below(5)));
    const char* const mac = dice.of({"error", "error", "edge", "box"});
    say(wish, "mac.type", mac);
    say(wish, "mac.theta", dice.of({"0.3", "0.6", "0.9"}));
    // Left to Graft, sizes differ between CPU and GPU, and so do errors.
    say(wish, "tree.leaf", std::to_string(dice.of({1, 7, 16, 64, 64, 200})));
    say(wish, "tree.group", std::to_string(dice.of({1, 31, 32, 33, 64, 128, 1024})));
    if (dice.one_in(8))
        say(wish, "tree.type", "orb");
    say(wish, "far_cells", dice.of({"off", "on"}));
    const std::string kernel = dice.of({"auto", "auto", "units", "block", "pairs-1d", "tiles-2d"});
    say(wish, "study.kernel", kernel);
    wish.same_bits = kernel == "auto" || kernel == "units" || kernel == "block";
    const std::string stage = dice.of({"best", "best", "best", "plain", "tiled", "unrolled"});
    wish.may_lack = wish.direct ? stage != "best" : kernel != "auto" && kernel != "units";
    say(wish, "study.build", dice.of({"fused", "fused", "levels", "two-phase"}));
    say(wish, "gpu.walk", dice.of({"auto", "warp", "super"}));
    say(wish, "study.walk", dice.of({"auto", "auto", "auto", "thread"}));
    say(wish, "study.direct_stage", stage);
    say(wish, "gpu.graph", dice.of({"auto", "always", "never"}));
    if (mac == std::string("error") && dice.one_in(4))
        say(wish, "mac.history", "true"), wish.same_bits = false;
    if (dice.one_in(6)) {
        say(wish, "gpu.list_reuse", "3"), say(wish, "gpu.list_skin", "0.01");
        wish.same_bits = false;
    }
    if (dice.one_in(6))
        say(wish, "gpu.list_bytes", "100000");
    wish.limited = dice.one_in(10);
    if (wish.limited)
        say(wish, "gpu.memory", dice.of({"1000000", "4000000", "16000000"}));
    return wish;
}

Scene HostileScenes::make_scene(Dice& dice, const Wish& wish) {
    Scene s;
    s.dimension = wish.dimension;
    s.n = hostile_size(dice, test_size(6000, 300));
    s.single = dice.one_in(2);
    s.split = dice.one_in(2);
    s.xyz = hostile_points(dice, s.n, wish.dimension, s.single, s.places);
    s.charge = hostile_charges(dice, s.n, s.single);
    if (dice.one_in(5) && s.n > 0) {
        s.charge_all = 3.0 / static_cast<double>(s.n);
        s.charge.assign(static_cast<size_t>(s.n), s.charge_all);
    }
    for (int64_t i = 0; wish.each_length && i < s.n; ++i)
        s.softening.push_back(i % 4 == 0 ? 0.0 : 0.0625 * static_cast<double>(dice.below(4)));
    s.by_points = dice.one_in(5);
    s.targets = s.n;
    if (s.by_points) {
        s.targets = hostile_size(dice, 2000);
        s.points = hostile_points(dice, s.targets, wish.dimension, s.single, s.places);
        for (size_t k = 0; k < s.points.size() && k < s.xyz.size() && dice.one_in(2); ++k)
            s.points[k] = s.xyz[k]; // some upon particles
    } else if (dice.one_in(5)) {
        const int64_t every = dice.of<int64_t>({1, 2, 33, 1000000});
        for (int64_t i = 0; i < s.n; ++i)
            s.active.push_back(i % every == every / 2 ? static_cast<double>(1 + dice.below(9)) : 0.0);
    } else if (dice.one_in(5) && s.n > 0) {
        s.from_1 = dice.one_in(2);
        const int64_t step = 1 + dice.below(5);
        for (int64_t i = s.n - 1; i >= 0; i -= step)
            s.target.push_back(static_cast<double>(i + (s.from_1 ? 1 : 0)));
    }
    s.field = !dice.one_in(6);
    s.potential = dice.one_in(2) || !s.field;
    s.sums = !s.by_points && dice.one_in(4);
    s.force = !s.by_points && dice.one_in(6);
    s.add = dice.one_in(4);
    s.bad = dice.one_in(7) && s.n > 0;
    if (s.bad)
        spoil(dice, s);
    return s;
}

void HostileScenes::spoil(Dice& dice, Scene& s) {
    const auto any = [&](std::vector<double>& values) -> double& {
        return values[static_cast<size_t>(dice.below(static_cast<int64_t>(values.size())))];
    };
    const double nan = std::nan(""), inf = INFINITY;
    const int64_t kind = dice.below(6);
    if (kind == 0 && !s.softening.empty())
        any(s.softening) = dice.of({nan, -inf, -1e-30});
    else if (kind == 1 && s.charge_all == 0)
        any(s.charge) = dice.of({nan, inf, -inf});
    else if (kind == 2 && !s.target.empty())
        any(s.target) = dice.of({-1.0, static_cast<double>(s.n + 1), 2e9, -2e9});
    else if (kind == 3 && s.target.size() > 1)
        s.target.back() = s.target.front();
    else if (kind == 4 && !s.points.empty())
        any(s.points) = dice.of({nan, inf, -inf});
    else
        any(s.xyz) = dice.of({nan, inf, -inf});
}

Arrays HostileScenes::place(Dice& dice, const Scene& s, bool on_gpu) {
    Arrays arrays;
    const int64_t habit = dice.below(4); // all on the device, all on the host, or anything
    const auto put = [&](std::unique_ptr<Placed>& slot, const std::vector<double>& values, int components,
                         int32_t dtype) {
        Place place = dice.of({Place::pageable, Place::pinned, Place::device, Place::managed});
        place = habit == 0 ? Place::device : habit == 1 ? Place::pageable : place;
        slot = std::make_unique<Placed>(dice, on_gpu ? place : Place::pageable, dtype, values, components);
    };
    const auto real = [&](bool narrow) { return narrow && dice.one_in(2) ? GRAFT_F32 : GRAFT_F64; };
    const int d = static_cast<int>(s.dimension);
    if (s.split) {
        for (int a = 0; a < d; ++a) {
            std::vector<double> axis;
            for (int64_t i = 0; i < s.n; ++i)
                axis.push_back(s.xyz[static_cast<size_t>(d * i + a)]);
            put(arrays.position[a], axis, 1, real(s.single));
        }
    } else {
        put(arrays.position[0], s.xyz, d, real(s.single));
    }
    if (s.charge_all == 0)
        put(arrays.charge, s.charge, 1, real(s.single));
    if (!s.softening.empty())
        put(arrays.softening, s.softening, 1, real(true));
    if (!s.active.empty())
        put(arrays.active, s.active, 1, dice.of({GRAFT_I32, GRAFT_I64}));
    if (!s.target.empty())
        put(arrays.target, s.target, 1, dice.of({GRAFT_I32, GRAFT_I64}));
    if (s.by_points)
        put(arrays.points, s.points, d, real(s.single));
    const auto start = [&](int64_t size) { return std::vector<double>(static_cast<size_t>(size), 0.125); };
    if (s.field)
        put(arrays.acceleration, start(d * s.targets), d, GRAFT_F64);
    if (s.potential)
        put(arrays.potential, start(s.targets), 1, GRAFT_F64);
    if (s.sums) {
        put(arrays.energy, start(1), 1, GRAFT_F64);
        put(arrays.virial, start(6), 6, GRAFT_F64);
    }
    return arrays;
}

int32_t HostileScenes::run(graft_context* where, const Scene& s, Arrays& arrays, bool halves) {
    const auto view = [](const std::unique_ptr<Placed>& slot) { return slot ? &slot->view() : nullptr; };
    for (const auto* slot : {&arrays.acceleration, &arrays.potential, &arrays.energy, &arrays.virial})
        if (*slot)
            (*slot)->refill();
    graft_particles particles{}, points{};
    particles.struct_size = points.struct_size = sizeof particles;
    particles.n = s.n, points.n = s.targets;
    for (int a = 0; a < 3; ++a)
        particles.position[a] = view(arrays.position[a]);
    particles.charge = view(arrays.charge);
    particles.charge_all = s.charge_all;
    particles.softening = view(arrays.softening);
    particles.active = view(arrays.active);
    graft_array list{};
    if (arrays.target) {
        list = arrays.target->view();
        list.flags = s.from_1 ? GRAFT_ARRAY_INDEX_FROM_1 : 0;
        particles.target_index = &list;
    }
    points.position[0] = view(arrays.points);
    graft_results results{};
    results.struct_size = sizeof results;
    graft_array written[4];
    int count = 0;
    const auto result = [&](const std::unique_ptr<Placed>& slot) -> const graft_array* {
        if (!slot)
            return nullptr;
        written[count] = slot->view();
        written[count].flags = s.add ? GRAFT_ARRAY_ADD : 0;
        return &written[count++];
    };
    results.acceleration[0] = result(arrays.acceleration);
    results.potential = result(arrays.potential);
    results.energy = result(arrays.energy), results.virial = result(arrays.virial);
    results.flags = s.force ? GRAFT_RESULTS_FORCE : 0;
    if (s.by_points)
        return api->field_at(where, &particles, &points, &results);
    if (!halves)
        return api->compute(where, &particles, &results);
    const int32_t status = api->compute_begin(where, &particles, &results);
    return status == GRAFT_OK ? api->compute_end(where) : status;
}

double longest_edge(const Scene& s) {
    double edge = 0;
    const std::vector<double>& at = s.by_points ? s.points : s.xyz;
    for (int64_t c = 0; c < s.dimension; ++c) {
        double lower = HUGE_VAL, upper = -HUGE_VAL;
        for (int64_t k = 0; k < s.targets; ++k)
            if (s.by_points || s.of_target(k)) {
                const double x = at[static_cast<size_t>(s.dimension * k + c)];
                lower = std::min(lower, x), upper = std::max(upper, x);
            }
        edge = std::max(edge, upper - lower);
    }
    return edge;
}

/// What a component of a target's field and its potential may be wrong by.
struct Allowed {
    double a, phi;
};

/// Of all pairs: rounding of the sums, and of what the target itself adds to them, which is taken off again;
/// and, in single precision, of places, whose distance is wrong by 2^-25 an axis of the edge of the frame of
/// the target's block. The frame is no larger than all targets (`edge`). Where the targets are the sources it
/// is no larger than 2^14 distances to the nearest particle beside it in target order, either
/// (forces/frame_resolution.hpp), and that is rarely further than 64 times the nearest of all.
Allowed allowed_of_pairs(const Wish& wish, const Scene& s, const Exact& e, double edge) {
    const double rounding = wish.fp64 ? 1e-12 : 1e-5;
    const bool all = !s.by_points && s.active.empty() && s.target.empty();
    const double frame = all ? std::min(edge, 64 * 0x1p14 * e.nearest) : edge;
    const double moved = wish.fp64 || frame == 0 ? 0 : std::sqrt(3.0) * 0x1p-25 * frame;
    return {rounding * e.size_a + moved * e.moved_a, rounding * (e.size_phi + e.self) + moved * e.moved_phi};
}

/// Of a tree, in the scale in which errors of CPU and GPU are compared; trees cut cells differently at the
/// last bit.
Allowed allowed_of_tree(const Wish& wish, const Scene& s, const Exact& e, double edge) {
    const Allowed of_pairs = allowed_of_pairs(wish, s, e, edge);
    return {0.02 * e.size_a + of_pairs.a, 0.02 * e.size_phi + of_pairs.phi};
}

/// All pairs are as exact as they are said to be, on both; the largest error of a tree on the GPU is not much
/// above that on the CPU.
void HostileScenes::compare(const Wish& wish, const Scene& s, const Arrays& cpu, const Arrays& gpu) {
    const int d = static_cast<int>(s.dimension);
    const std::vector<double> none, a_cpu = cpu.acceleration ? cpu.acceleration->get() : none,
                                    a_gpu = gpu.acceleration ? gpu.acceleration->get() : none,
                                    p_cpu = cpu.potential ? cpu.potential->get() : none,
                                    p_gpu = gpu.potential ? gpu.potential->get() : none;
    if (cpu.energy)
        (void)gpu.energy->get(), (void)gpu.virial->get();
    const HostileSoftening softening{wish.softening, wish.length,
                                     s.softening.empty() ? nullptr : &s.softening};
    // Papers' kernels have one frame for all, in single precision; cells of a tree have no help where lengths
    // differ too much (docs/gpu/evaluate.md).
    const bool wide = s.places.widest > 1e10 * s.places.finest;
    const bool judged = !wish.may_lack && (wish.direct || wish.fp64 || !wide);
    const double edge = longest_edge(s);
    const int64_t step = std::max<int64_t>(1, s.targets / 150);
    double of_cpu = 0, of_gpu = 0;
    std::string words_cpu, words_gpu;
    for (int64_t k = 0; k < s.targets; k += s.by_points || s.of_target(k) ? step : 1) {
        if (!s.by_points && !s.of_target(k)) {
            for (int c = 0; c < d && s.field; ++c)
                ASSERT_EQ(a_gpu[static_cast<size_t>(d * k + c)], 0.125) << "no target, item " << k;
            continue;
        }
        if (!judged)
            continue;
        const double* at = (s.by_points ? s.points : s.xyz).data() + d * k;
        const Exact e = exact_at(s.xyz, s.charge, d, softening, at, s.by_points ? -1 : k);
        const Allowed allowed =
            wish.direct ? allowed_of_pairs(wish, s, e, edge) : allowed_of_tree(wish, s, e, edge);
        const double weight = s.force ? std::abs(s.charge[static_cast<size_t>(k)]) : 1;
        const double least = 1e-290 + (s.add ? 1e-15 : 0);
        const auto worse = [&](double& worst_ratio, std::string& words, double found, double right,
                               double may) {
            const double ratio = std::abs(found - right) / may;
            if (!(ratio > worst_ratio))
                return;
            worst_ratio = ratio;
            char text[160];
            std::snprintf(text, sizeof text, "target %lld: %.9g, exact %.9g, wrong by %.3g times %.3g",
                          static_cast<long long>(k), found, right, ratio, may);
            words = text;
        };
        const auto note = [&](double mine, double its, double right, double may, double size) {
            if (!std::isfinite(its) || !std::isfinite(may) || size > 1e290)
                return;
            EXPECT_TRUE(std::isfinite(mine)) << "target " << k << ": " << mine << ", CPU " << its;
            worse(of_gpu, words_gpu, mine, right, may + least);
            worse(of_cpu, words_cpu, its, right, may + least);
        };
        const double sign = wish.words.find("coulomb") != std::string::npos ? -1 : 1,
                     start = s.add ? 0.125 : 0;
        const double times = s.force ? s.charge[static_cast<size_t>(k)] : 1;
        for (int c = 0; c < d && s.field; ++c) {
            const auto j = static_cast<size_t>(d * k + c);
            note(a_gpu[j], a_cpu[j], sign * e.a[c] * times + start, allowed.a * weight, e.size_a * weight);
        }
        const auto j = static_cast<size_t>(k);
        if (s.potential)
            note(p_gpu[j], p_cpu[j], sign * e.phi + start, allowed.phi, e.size_phi + e.self);
    }
    if (wish.direct) {
        EXPECT_LE(of_gpu, 1) << words_gpu << "; CPU: " << words_cpu;
        EXPECT_LE(of_cpu, 1) << "CPU: " << words_cpu;
    } else {
        EXPECT_LE(of_gpu, 5 * of_cpu + 1) << words_gpu << "; CPU: " << words_cpu;
    }
    worst = std::max(worst, of_gpu);
}

TEST_F(HostileScenes, AreTheCpusAndExact) {
    const int64_t scenes = number_of("GRAFT_TEST_SCENES", test_size(120, 12)),
                  seed = number_of("GRAFT_TEST_SEED", 1);
    int64_t done = 0, refused = 0, short_of_memory = 0, lacking = 0;
    cudaStream_t own = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
    for (int64_t round = 0; done < scenes; ++round) {
        Dice dice(static_cast<uint64_t>(1000003 * seed + round));
        const Wish wish = choose_options(dice);
        set("backend", "cpu");
        ASSERT_EQ(api->context_create(options, nullptr, &other), GRAFT_OK) << api->last_error();
        set("backend", "gpu");
        create();
        ASSERT_EQ(api->context_set_stream(
                      context, dice.of<cudaStream_t>({nullptr, own, cudaStreamLegacy, cudaStreamPerThread})),
                  GRAFT_OK);
        for (int64_t left = 1 + dice.below(4); left > 0; --left, ++done) {
            const Scene s = make_scene(dice, wish);
            SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ", " +
                         wish.words + s.places.words + "n " + std::to_string(s.n) +
                         (s.by_points ? ", points " : ", targets ") + std::to_string(s.targets) +
                         (s.bad ? ", bad" : ""));
            Arrays cpu = place(dice, s, false), gpu = place(dice, s, true);
            const int64_t times = 1 + dice.below(4);
            std::vector<double> first;
            for (int64_t t = 0; t < times; ++t) {
                const int32_t expected = run(other, s, cpu, false);
                const std::string words = api->last_error();
                const int32_t found = run(context, s, gpu, dice.one_in(2));
                if (found == GRAFT_ERROR_MEMORY && wish.limited) {
                    ++short_of_memory;
                    break;
                }
                if (found == GRAFT_ERROR_UNSUPPORTED && wish.may_lack) {
                    ++lacking;
                    break;
                }
                ASSERT_EQ(found, expected) << api->last_error() << " / CPU: " << words;
                Arrays* const both[] = {&cpu, &gpu};
                if (found != GRAFT_OK) {
                    ++refused;
                    EXPECT_EQ(std::string(api->last_error()), words);
                    for (Arrays* arrays : both)
                        for (const auto* slot : {&arrays->acceleration, &arrays->potential, &arrays->energy})
                            if (*slot) {
                                EXPECT_EQ((*slot)->get(), (*slot)->values()) << "written on failure";
                            }
                    continue;
                }
                std::vector<double> now = gpu.acceleration ? gpu.acceleration->get() : gpu.potential->get();
                if (t > 0 && wish.same_bits) {
                    EXPECT_EQ(std::memcmp(now.data(), first.data(), now.size() * sizeof(double)), 0)
                        << "other bits in run " << t;
                }
                first = std::move(now);
                if (t == times - 1)
                    compare(wish, s, cpu, gpu);
            }
        }
        ASSERT_EQ(api->context_destroy(&other), GRAFT_OK);
        ASSERT_EQ(api->context_destroy(&context), GRAFT_OK);
    }
    ASSERT_EQ(cudaStreamDestroy(own), cudaSuccess);
    std::printf(
        "seed %lld: %lld scenes, %lld refused alike, %lld not done by a paper's kernel, %lld short of "
        "memory, largest error %.1e of what is allowed\n",
        static_cast<long long>(seed), static_cast<long long>(done), static_cast<long long>(refused),
        static_cast<long long>(lacking), static_cast<long long>(short_of_memory), worst);
}

} // namespace
