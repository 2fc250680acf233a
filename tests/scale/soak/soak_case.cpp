// SPDX-License-Identifier: BSD-3-Clause
// Runs cases of the soak campaign (tests/scale/soak.py): a line of words is a case, a line of JSON what came of it.
// Whoever runs it watches for lines that do not come.
//
//     soak_case LIBRARY                  cases from standard input, answers to standard output; ranks are threads
//     soak_case LIBRARY FAMILY FOLDER    one of the ranks under mpiexec: cases from FOLDER/to.RANK, its own answers to
//                                        FOLDER/from.RANK. FAMILY: mpich or openmpi
#include "mpi_world.hpp"
#include "rank.hpp"

#include <graft/graft_loader.h>

#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

namespace soak {

namespace {

using Ranks = std::vector<std::unique_ptr<Rank>>;

std::optional<Lattice> lattice_of(const Case& c, const Law& law, const Scene& scene) {
    if (c.text("oracle") != "lattice")
        return std::nullopt;
    const double edge[3] = {std::stod(c.deck("box.x", "0")), std::stod(c.deck("box.y", "0")),
                            std::stod(c.deck("box.z", "0"))};
    return Lattice(law, scene, edge);
}

void judge(const Case& c, const Scene& scene, const Ranks& ranks) {
    const Law law(c);
    const auto lattice = lattice_of(c, law, scene);
    for (const auto& rank : ranks)
        rank->judge(law, lattice ? &*lattice : nullptr);
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char ch : text) {
        if (ch == '"' || ch == '\\')
            out += '\\';
        out += static_cast<unsigned char>(ch) < ' ' ? ' ' : ch;
    }
    return out + "\"";
}

std::string answer_of(const Rank& rank) {
    const Verdict& v = rank.verdict;
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "\"status\": %d, \"worst\": %.3g, ", v.status,
                  std::isfinite(v.worst) ? v.worst : 1e300);
    const auto flag = [](const char* name, bool is) {
        return quoted(name) + (is ? ": true, " : ": false, ");
    };
    return "{\"verdict\": " + quoted(v.word) + ", " + flag("lost_in_single", v.lost_in_single) +
           flag("faulty", rank.faulty()) + flag("beyond", v.beyond) + numbers +
           "\"detail\": " + quoted(v.detail) + "}";
}

void answer(std::ostream& out, const Case& c, const Ranks& ranks) {
    out << "{\"id\": " << c.text("id", "0") << ", \"ranks\": [";
    for (const auto& rank : ranks)
        out << (&rank == ranks.data() ? "" : ", ") << answer_of(*rank);
    out << "]}" << std::endl;
}

/// Ranks as threads of this process.
void run_threads(const Case& c) {
    const Scene scene = scene_of(c);
    const auto size = static_cast<int>(c.whole("ranks", 1));
    std::vector<graft_comm_v1*> comms(static_cast<size_t>(size), nullptr);
    if (size > 1 && api->comm_create_threads(size, comms.data()) != GRAFT_OK) {
        std::fprintf(stderr, "no ranks: %s\n", api->last_error());
        std::exit(3);
    }
    Ranks ranks;
    for (int r = 0; r < size; ++r)
        ranks.push_back(std::make_unique<Rank>(c, scene, r, size, comms[static_cast<size_t>(r)]));
    std::vector<std::thread> threads;
    for (auto& rank : ranks)
        threads.emplace_back([&rank] { rank->run(); });
    for (std::thread& thread : threads)
        thread.join();
    judge(c, scene, ranks);
    answer(std::cout, c, ranks);
    ranks.clear();
    for (graft_comm_v1* comm : comms)
        if (comm != nullptr)
            comm->comm_free(comm);
}

/// This process's share of a case of the first few ranks of the world; the others have nothing to say.
void run_mpi(const Case& c, const MpiWorld& world, std::ostream& out) {
    const auto size = static_cast<int>(c.whole("ranks", 1));
    graft_comm_v1* comm = world.table(size);
    if (world.rank() < size) {
        const Scene scene = scene_of(c);
        Ranks ranks;
        ranks.push_back(std::make_unique<Rank>(c, scene, comm->rank, size, comm));
        ranks[0]->run();
        judge(c, scene, ranks);
        answer(out, c, ranks);
    }
    comm->comm_free(comm);
}

void serve_mpi(const char* family, const std::string& folder) {
    const MpiWorld world(family);
    const std::string rank = std::to_string(world.rank());
    std::ofstream out(folder + "/from." + rank);
    std::ifstream in(folder + "/to." + rank);
    for (std::string line; std::getline(in, line);)
        run_mpi(Case(line), world, out);
}

} // namespace

} // namespace soak

int main(int argc, char** argv) {
    char why[2048];
    if (graft_load(argc > 1 ? argv[1] : nullptr, &soak::api, why, sizeof why) != GRAFT_OK) {
        std::fprintf(stderr, "%s\n", why);
        return 2;
    }
    if (argc > 3)
        soak::serve_mpi(argv[2], argv[3]);
    else
        for (std::string line; std::getline(std::cin, line);)
            soak::run_threads(soak::Case(line));
    return 0;
}
