// SPDX-License-Identifier: BSD-3-Clause
// What the engine promises beside numbers: errors, memory, no waiting, no allocation, graphs, unit charges.
#include "engine_scene.cuh"

#include <atomic>
#include <limits>

namespace {

using namespace graft::test;

class EngineLife : public OnDevice {
  protected:
    static std::string message_of(const std::function<void()>& body) {
        try {
            body();
        } catch (const Error& error) {
            return error.what();
        }
        return "no error";
    }
};

/// Each source counts 1: with a softening far larger than the system, potential * length is the number of
/// sources that reached a target, by whatever operator.
TEST_F(EngineLife, UnitCharges) {
    Engine engine;
    Cases cases(5);
    for (int64_t n : {int64_t{1}, int64_t{100}, graft::test::test_size(20011, 511)})
        for (MacType mac : {MacType::edge, MacType::box, MacType::error})
            for (int64_t limit : {int64_t{0}, int64_t{1} << 16}) {
                if (cases.skip())
                    continue;
                Cloud cloud = make_cloud(n, 21);
                std::fill(cloud.q.begin(), cloud.q.end(), 1.0);
                Settings s;
                s.mac = mac, s.theta = 0.8, s.accuracy = 0.01, s.precision = Precision::fp64, s.order = 1;
                s.leaf = 8, s.group = 32;
                s.softening = Softening::plummer, s.softening_length = 1e9;
                s.device.list_limit = limit;
                const Answer answer = engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device);
                for (double value : answer.potential)
                    ASSERT_NEAR(-value * 1e9, static_cast<double>(n - 1), 1e-3) << n;
            }
}

TEST_F(EngineLife, BadValuesAreNamedAsOnTheCpu) {
    Engine engine;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Cases cases(3);
    for (int array = 0; array < 6; ++array)
        for (MemorySpace space : {MemorySpace::host, MemorySpace::device}) {
            if (cases.skip())
                continue;
            Cloud cloud = make_cloud(3000, 22);
            Wish wish;
            wish.softening = true;
            Settings s;
            s.softening = Softening::plummer;
            std::vector<double>* values[] = {&cloud.x, &cloud.y,         &cloud.z,
                                             &cloud.q, &cloud.softening, &cloud.x};
            (*values[array])[2000] = array == 4 ? -1 : (array == 5 ? 1e200 : nan);
            (*values[array])[2500] = nan;
            if (array < 3)
                cloud.q[3] = nan; // a later array
            const std::string cpu = message_of([&] { on_cpu(s, cloud, wish); });
            Call call(cloud, wish, Layout::soa64, space);
            const Answer before = call.answer();
            const std::string gpu = message_of([&] {
                engine.begin(s, call);
                engine.end();
            });
            EXPECT_EQ(gpu, cpu);
            EXPECT_NE(gpu.find("2000"), std::string::npos);
            EXPECT_EQ(call.answer().ax, before.ax) << "outputs are untouched";
        }
    Cloud huge = make_cloud(10, 23);
    huge.q[0] = huge.q[1] = 1.7e308;
    EXPECT_EQ(message_of([&] { engine.run({}, huge, {}, Layout::soa64, MemorySpace::device); }),
              message_of([&] { on_cpu({}, huge, {}); }));
    EXPECT_NO_THROW(engine.run({}, make_cloud(1000), {}, Layout::soa64, MemorySpace::device));
}

TEST_F(EngineLife, BadTargetsAreNamedAsOnTheCpu) {
    Engine engine;
    const Cloud cloud = make_cloud(1000, 24);
    for (const std::vector<int32_t>& list :
         {std::vector<int32_t>{5, 7, 1000, -1}, std::vector<int32_t>{5, 7, 5, 7},
          std::vector<int32_t>{1, -1, 1}})
        for (MemorySpace space : {MemorySpace::host, MemorySpace::device}) {
            Wish wish;
            wish.has_target = true, wish.target = list;
            const std::string cpu = message_of([&] { on_cpu({}, cloud, wish); });
            EXPECT_EQ(message_of([&] { engine.run({}, cloud, wish, Layout::soa64, space); }), cpu);
            EXPECT_NE(cpu, "no error");
        }
}

TEST_F(EngineLife, SteadyStateNeitherAllocatesNorWaits) {
    Engine engine;
    const Cloud cloud = make_cloud(test_size(20000, 800), 25);
    Cases cases(3);
    for (MemorySpace space : {MemorySpace::device, MemorySpace::host})
        for (int graph : {0, 1}) {
            if (cases.skip())
                continue;
            Settings s;
            s.device.graph = graph;
            Wish wish;
            Call call(cloud, wish, Layout::xyzh32, space);
            DeviceReport before;
            for (int k = 0; k < 3; ++k) {
                engine.begin(s, call);
                before = engine.end();
            }
            for (int k = 1; k <= test_size(5, 2); ++k) {
                engine.begin(s, call);
                const DeviceReport report = engine.end();
                EXPECT_EQ(report.allocations, before.allocations);
                EXPECT_EQ(report.waits, before.waits + k) << "one wait a computation: end()'s";
                EXPECT_EQ(report.repeats, before.repeats);
                EXPECT_EQ(report.graph, graph == 1 && space == MemorySpace::device ? 1 : 0);
            }
        }
}

/// begin() returns while the stream is still busy with work of the host's before it.
TEST_F(EngineLife, BeginDoesNotWaitForTheStream) {
    Engine engine;
    const Cloud cloud = make_cloud(test_size(10000, 700), 26);
    Settings s;
    s.device.graph = 0;
    Wish wish;
    Call call(cloud, wish, Layout::soa32, MemorySpace::device);
    cudaStream_t stream;
    GRAFT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int k = 0; k < 3; ++k) {
        engine.begin(s, call, stream);
        engine.end();
    }
    struct Gate {
        std::atomic<bool> open{false}, late{false};
    } gate;
    GRAFT_CUDA(cudaLaunchHostFunc(
        stream,
        [](void* user) {
            Gate& g = *static_cast<Gate*>(user);
            for (int k = 0; k < 20000 && !g.open; ++k)
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            g.late = !g.open;
        },
        &gate));
    engine.begin(s, call, stream); // with the stream held up: returns, or the gate would open too late
    gate.open = true;
    engine.end();
    if (!small_inputs()) // a sanitizer waits for every launch
        EXPECT_FALSE(gate.late);
    GRAFT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(EngineLife, SameBitsEveryRunAndByGraph) {
    const Cloud cloud = make_cloud(test_size(30000, 800), 27);
    Cases cases(5);
    for (Method method : {Method::tree, Method::direct})
        for (Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64}) {
            if (cases.skip())
                continue;
            Settings s;
            s.method = method, s.precision = precision;
            std::vector<Answer> answers;
            for (int graph : {0, 1}) {
                Engine engine;
                s.device.graph = graph;
                Wish wish;
                Call call(cloud, wish, Layout::soa64, MemorySpace::device);
                for (int k = 0; k < test_size(4, 3); ++k) {
                    engine.begin(s, call);
                    const DeviceReport report = engine.end();
                    EXPECT_EQ(report.graph, k >= 2 && graph == 1 ? 1 : report.graph);
                    answers.push_back(call.answer());
                }
            }
            for (const Answer& answer : answers) {
                EXPECT_EQ(answer.ax, answers[0].ax);
                EXPECT_EQ(answer.potential, answers[0].potential);
                EXPECT_EQ(answer.virial, answers[0].virial);
                EXPECT_EQ(answer.energy, answers[0].energy);
            }
        }
}

/// A graph replays kernels, not numbers: new positions in the same arrays give their own field.
TEST_F(EngineLife, GraphsReadTheArraysAnew) {
    Engine engine;
    Settings s;
    s.device.graph = 1;
    Wish wish;
    const int64_t n = test_size(5000, 600);
    Call call(make_cloud(n, 28), wish, Layout::soa64, MemorySpace::device);
    for (int k = 0; k < 3; ++k) {
        engine.begin(s, call);
        EXPECT_EQ(engine.end().graph, k >= 1 ? 1 : 0);
    }
    const Cloud other = make_cloud(n, 29);
    const std::vector<double>* from[] = {&other.x, &other.y, &other.z, &other.q};
    for (int c = 0; c < 4; ++c)
        GRAFT_CUDA(cudaMemcpy((c < 3 ? call.input.position[c] : call.input.charge).data, from[c]->data(),
                              static_cast<size_t>(8 * n), cudaMemcpyDefault));
    engine.begin(s, call);
    const DeviceReport report = engine.end();
    EXPECT_EQ(report.graph, 1);
    const Answer cpu = on_cpu(s, other, wish), gpu = call.answer();
    EXPECT_LE(errors(gpu, cpu)[static_cast<size_t>(n * 99 / 100)], 1e-4);
}

TEST_F(EngineLife, MemoryRefusedIsAnErrorAndNoMore) {
    Engine engine;
    const Cloud cloud = make_cloud(test_size(200000, 3000), 30), small = make_cloud(1000, 31);
    Settings s;
    for (int64_t limit = 1 << 20; limit < int64_t{1} << 30; limit += small_inputs() ? 3 * limit : limit / 3) {
        s.device.memory_limit = limit;
        const std::string message =
            message_of([&] { engine.run(s, cloud, {}, Layout::soa64, MemorySpace::device); });
        if (message == "no error")
            break;
        EXPECT_NE(message.find("bytes wanted"), std::string::npos) << message;
        EXPECT_NE(message.find("free"), std::string::npos) << message;
    }
    s.device.memory_limit = 0;
    EXPECT_LE(errors(engine.run(s, small, {}, Layout::soa64, MemorySpace::device), on_cpu(s, small, {}))[990],
              1e-4);
}

/// The default settings on a Plummer sphere: errors against an fp64 direct sum, as the CPU's.
TEST_F(EngineLife, PercentilesOfThePlummerSphere) {
    Engine engine;
    const auto n = static_cast<int32_t>(test_size(100000, 3000));
    Cloud cloud = make_cloud(n, 35);
    Wish wish;
    wish.sums = wish.potential = false;
    wish.has_target = true;
    for (int32_t i = n / 2000; i < n; i += n / 1000)
        wish.target.push_back(i);
    Settings direct;
    direct.method = Method::direct, direct.precision = Precision::fp64;
    const auto chosen = [&](const Answer& all) {
        Answer some;
        for (int32_t i : wish.target) {
            const auto k = static_cast<size_t>(i);
            some.ax.push_back(all.ax[k]), some.ay.push_back(all.ay[k]), some.az.push_back(all.az[k]);
        }
        return some;
    };
    const Answer truth = chosen(engine.run(direct, cloud, wish, Layout::soa64, MemorySpace::device));
    Wish all;
    all.sums = all.potential = false;
    Cases cases(4);
    for (int group : {64, 128}) {
        Settings s;
        s.group = group;
        const std::vector<double> cpu = errors(chosen(on_cpu(s, cloud, all)), truth);
        for (Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64}) {
            if (cases.skip())
                continue;
            s.precision = precision;
            const std::vector<double> gpu =
                errors(chosen(engine.run(s, cloud, all, Layout::soa64, MemorySpace::device)), truth);
            EXPECT_LT(gpu[990], small_inputs() ? 2e-3 : 1.2e-3) << "p99, precision " << int(precision);
            EXPECT_LT(gpu[990], 1.02 * cpu[990]);
            EXPECT_LT(gpu[500], 1.02 * cpu[500]);
            EXPECT_GT(gpu[990], 1e-5) << "the tree was not used?";
        }
    }
}

/// More than a staging chunk, and more results than travel with the computation: the same bits as device
/// arrays.
TEST_F(EngineLife, LargeHostArrays) {
    Engine engine;
    const Cloud cloud = make_cloud(2400000, 36);
    Settings s;
    s.precision = Precision::fp32, s.accuracy = 1e-2;
    for (bool subset : {false, true}) {
        Wish wish;
        if (subset)
            wish.active.assign(2400000, 1), wish.active[77] = 0;
        const Answer device = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::device);
        const Answer host = engine.run(s, cloud, wish, Layout::soa64, MemorySpace::host);
        EXPECT_TRUE(device.ax == host.ax && device.ay == host.ay && device.az == host.az);
        EXPECT_TRUE(device.potential == host.potential);
        EXPECT_EQ(device.virial, host.virial);
        EXPECT_EQ(host.ax[77] < -1e30, subset);
        EXPECT_EQ(std::count_if(host.ax.begin(), host.ax.end(), [](double a) { return a < -1e30; }),
                  subset ? 1 : 0);
    }
}

TEST_F(EngineLife, EndNeedsABegin) {
    Engine engine;
    EXPECT_NE(message_of([&] { engine.end(); }).find("compute_begin"), std::string::npos);
    Wish wish;
    Call call(make_cloud(100), wish, Layout::soa64, MemorySpace::device);
    engine.begin({}, call);
    EXPECT_NE(message_of([&] { engine.begin({}, call); }).find("compute_end"), std::string::npos);
    engine.end();
}

/// Sizes up and down, subsets and points in turn: what one call leaves behind does not reach the next.
TEST_F(EngineLife, CallsDoNotDisturbEachOther) {
    Engine engine;
    const Cloud clouds[] = {make_cloud(test_size(3000, 1000), 32), make_cloud(test_size(90000, 1500), 33),
                            make_cloud(10, 34)};
    Cases cases(5);
    for (int round = 0; round < 3; ++round)
        for (const Cloud& cloud : clouds)
            for (bool points : {false, true}) {
                if (cases.skip())
                    continue;
                Wish wish;
                wish.points = points ? &clouds[0] : nullptr;
                Settings s;
                s.leaf = round == 2 ? 8 : 64;
                const std::vector<double> error = errors(
                    engine.run(s, cloud, wish, Layout::soa64, MemorySpace::host), on_cpu(s, cloud, wish));
                EXPECT_LE(error[error.size() * 98 / 100], 1e-4) << cloud.size();
            }
}

} // namespace
