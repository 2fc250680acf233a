// SPDX-License-Identifier: BSD-3-Clause
// What the log says of a periodic box: a net charge's background above all, on the CPU; on a GPU the same
// function makes the words of what the device has found (tests/gpu/engine/ranks_box_test.cu).
#include "periodic_scene.hpp"

#include "periodic/periodic_log.hpp"

namespace graft::engine::testing {
namespace {

/// Lines of a solver that computes twice.
std::string said(const Cloud& given, const settings::Settings& s) {
    Cloud cloud = given;
    std::string text;
    core::Memory memory;
    Solver solver(s, memory);
    solver.change_settings().threads = 1;
    solver.log().level = core::LogLevel::info, solver.log().user = &text;
    solver.log().callback = [](void* user, int32_t, const char* line) {
        *static_cast<std::string*>(user) += std::string(line) + "\n";
    };
    ParticleInput input;
    Outputs outputs;
    input.n = cloud.size();
    input.position[0] = view(cloud.x), input.position[1] = view(cloud.y), input.position[2] = view(cloud.z);
    input.charge = view(cloud.q);
    std::vector<double> out(cloud.x.size());
    outputs.acceleration[0] = view(out);
    solver.compute(input, outputs);
    solver.compute(input, outputs);
    return text;
}

TEST(PeriodicWordsTest, ANetChargeIsSaidOnceInTheHostsUnits) {
    Cloud cloud;
    for (int i = 0; i < 40; ++i)
        add(cloud, 0.1 + 0.02 * i, 0.9 - 0.013 * i * i / 40, 0.3 + 0.017 * i, i % 2 == 0 ? 3.5 : -3.0);
    settings::Settings s = periodic_settings(PeriodicBox{});
    std::string text = said(cloud, s);
    EXPECT_NE(text.find("; the net charge 10 has a uniform background\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("background"), text.rfind("background")) << text;
    s.interaction = settings::Interaction::gravity;
    for (double& q : cloud.q)
        q = 0.25;
    text = said(cloud, s);
    EXPECT_NE(text.find("; the net mass 10 has a uniform background\n"), std::string::npos) << text;
    for (size_t i = 0; i < cloud.q.size(); ++i)
        cloud.q[i] = i % 2 == 0 ? 0.1 : -0.1;
    text = said(cloud, s);
    EXPECT_NE(text.find("periodic box: alpha"), std::string::npos) << text;
    EXPECT_EQ(text.find("background"), std::string::npos) << text;
}

TEST(PeriodicWordsTest, SlabsAndWiresHaveWordsOfTheirOwn) {
    periodic::PeriodicWords words;
    words.alpha = 8, words.cutoff = 0.5, words.vectors = 1234, words.accuracy = 1e-6;
    words.edge = 3, words.net = true, words.charge = -2;
    settings::Settings s;
    EXPECT_EQ(periodic::periodic_words(s, words), "periodic box: alpha 8, pairs up to 0.5, 1234 wave vectors, accuracy "
                                        "1e-06; the net mass -2 has a uniform background");
    s.interaction = settings::Interaction::coulomb, words.cells = words.about = true;
    s.open_axis = 1; // whose net charge needs no background
    EXPECT_EQ(periodic::periodic_words(s, words), "periodic box: alpha 8, pairs and cells up to 0.5, about 1234 wave "
                                        "vectors, accuracy 1e-06; a slab in a cell of 3 along y");
    s.open_axis = -1, s.wire_axis = 2;
    EXPECT_EQ(
        periodic::periodic_words(s, words),
        "periodic box: alpha 8, pairs and cells up to 0.5, about 1234 wave vectors, accuracy 1e-06; a "
        "wire along z in a square cell of 3; the potential of its net charge -2 is 0 at a distance of one "
        "period");
}

} // namespace
} // namespace graft::engine::testing
