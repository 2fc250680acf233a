// SPDX-License-Identifier: BSD-3-Clause
// Limits are well above what right forces have on any machine, and far below what a wrong one would.
#include "command/selftest_checks.hpp"

#include "ic/initial_conditions.hpp"
#include "ranks/launcher.hpp"

#include <graft/graft_mpi_loader.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <future>
#include <limits>
#include <numeric>
#include <sys/wait.h>

namespace graft::cli {

namespace {

using Keys = std::vector<std::pair<const char*, const char*>>;

const Keys direct = {{"method", "direct"}}, accurate = {{"mac.accuracy", "1e-5"}};
constexpr double direct_limit = 1e-12, accurate_limit = 5e-4;
constexpr const char* next_step =
    "OMP_NUM_THREADS=1, a library built on this machine (--library FILE); report it with `graft info`";

/// An odd number of bodies: two ranks cannot have as many each.
Snapshot sphere() {
    return make_plummer({.n = 3001, .seed = 42});
}

/// A deck for the CPU in double precision, but for what `keys` say.
void fill(Deck& deck, const Keys& keys) {
    for (const Keys& part : {Keys{{"backend", "cpu"}, {"precision", "fp64"}, {"comm.deadline_s", "30"}}, keys}) {
        for (const auto& [key, value] : part) {
            deck.set(key, value);
        }
    }
}

/// Accelerations and potentials of all bodies.
Field forces(const Engine& engine, const Snapshot& bodies, const Keys& keys) {
    Deck deck(engine);
    fill(deck, keys);
    Field field;
    field.potential.resize(bodies.size());
    Solver(deck).compute(bodies, field, false, false);
    return field;
}

/// Body k of `part` is body first + k * step of `whole`: their largest difference. That of potentials is relative; that of
/// accelerations, which nearly cancel at a centre, in parts of the body's own or the median, if that is larger (if not 0).
/// Infinite where a number is not finite.
double largest_error(const Field& part, const Field& whole, std::size_t first = 0, std::size_t step = 1) {
    std::vector<double> sizes;
    for (std::size_t i = 0; i < whole.ax.size(); ++i) {
        sizes.push_back(std::hypot(whole.ax[i], whole.ay[i], whole.az[i]));
    }
    std::vector<double> sorted = sizes;
    std::sort(sorted.begin(), sorted.end());
    double largest = 0;
    for (std::size_t k = 0, i = first; k < part.ax.size(); ++k, i += step) {
        const double off = std::hypot(part.ax[k] - whole.ax[i], part.ay[k] - whole.ay[i], part.az[k] - whole.az[i]);
        const double size = std::max(sizes[i], sorted[sorted.size() / 2]);
        const double error = off / (size > 0 ? size : 1) + std::abs(part.potential[k] / whole.potential[i] - 1);
        largest = std::isfinite(error) ? std::max(largest, error) : std::numeric_limits<double>::infinity();
    }
    return largest;
}

/// What was compared and its error, as text; throws where that is above the limit.
std::string accept(const std::string& what, double error, double limit) {
    std::array<char, 32> found, allowed;
    std::snprintf(found.data(), found.size(), "%.1e", error);
    std::snprintf(allowed.data(), allowed.size(), "%.0e", limit);
    if (!(error <= limit)) {
        throw Error({what, "", std::string("an error of at most ") + allowed.data(), found.data(), next_step});
    }
    return what + ": error " + found.data() + ", allowed " + allowed.data();
}

std::string library(const Engine& engine) {
    Deck deck(engine);
    fill(deck, {});
    Solver solver(deck);
    Field field;
    solver.compute(sphere(), field, false, false);
    std::string simd = solver.figure_text("simd");
    std::erase(simd, '"');
    return engine.path() + ", version " + engine.api().version() + ", SIMD " + simd + ", threads " +
           std::to_string(std::lround(solver.figure("threads").value_or(0)));
}

/// Masses 1, 2, 3 at x = 0, 1, 3.
std::string on_paper(const Engine& engine) {
    Snapshot line;
    for (const double x : {0.0, 1.0, 3.0}) {
        line.x[line.append(Component::Halo, static_cast<double>(line.size() + 1))] = x;
    }
    const Field paper = {{2. / 1 + 3. / 9, -1. / 1 + 3. / 4, -1. / 9 - 2. / 4},
                         {0, 0, 0},
                         {0, 0, 0},
                         {-2. / 1 - 3. / 3, -1. / 1 - 3. / 2, -1. / 3 - 2. / 2}};
    return accept("three bodies on a line, and paper",
                  largest_error(paper, forces(engine, line, direct)) + largest_error(paper, forces(engine, line, {})), 1e-14);
}

/// Some targets by a loop that shares nothing with the library.
std::string plain_sums(const Engine& engine) {
    constexpr std::size_t step = 30;
    const Snapshot s = sphere();
    Field plain;
    for (std::size_t i = 0; i < s.size(); i += step) {
        std::array<long double, 4> sum{};
        for (std::size_t j = 0; j < s.size(); ++j) {
            const long double x = s.x[j] - static_cast<long double>(s.x[i]), y = s.y[j] - static_cast<long double>(s.y[i]),
                              z = s.z[j] - static_cast<long double>(s.z[i]), r = std::sqrt(x * x + y * y + z * z);
            const long double potential = j != i ? s.mass[j] / r : 0, a = j != i ? potential / (r * r) : 0;
            sum = {sum[0] + a * x, sum[1] + a * y, sum[2] + a * z, sum[3] - potential};
        }
        plain.ax.push_back(static_cast<double>(sum[0]));
        plain.ay.push_back(static_cast<double>(sum[1]));
        plain.az.push_back(static_cast<double>(sum[2]));
        plain.potential.push_back(static_cast<double>(sum[3]));
    }
    const double error = largest_error(plain, forces(engine, s, direct), 0, step);
    return accept("method direct for 3001 bodies, and plain sums", error, direct_limit);
}

/// As decks do by default, and more accurately.
std::string tree_of(const Engine& engine, const char* backend) {
    const Field all_pairs = forces(engine, sphere(), direct);
    const auto error = [&](const char* key, const char* value) {
        return largest_error(forces(engine, sphere(), {{"backend", backend}, {key, value}}), all_pairs);
    };
    const std::string found = accept("the tree and all pairs", error("precision", "auto"), 2e-2);
    return found + "; " + accept("with mac.accuracy 1e-5, the tree and all pairs", error("mac.accuracy", "1e-5"), accurate_limit);
}

std::string tree(const Engine& engine) {
    return tree_of(engine, "cpu");
}

std::string gpu(const Engine& engine) {
    const Keys all_pairs = {{"backend", "gpu"}, {"method", "direct"}};
    try {
        Deck deck(engine);
        fill(deck, all_pairs);
        const Solver solver(deck);
    } catch (const Error& error) {
        throw NotHere(error.parts());
    }
    const double error = largest_error(forces(engine, sphere(), all_pairs), forces(engine, sphere(), direct));
    const std::string found = accept("all pairs on a GPU and on the CPU", error, direct_limit);
    return found + "; " + tree_of(engine, "gpu");
}

/// Rock salt: eight ions in a cell, at distances of 1. By symmetry no force acts.
std::string rock_salt(const Engine& engine) {
    constexpr double madelung = 1.7475645946331822;
    Snapshot ions;
    Field known;
    known.resize(8);
    for (unsigned corner = 0; corner < 8; ++corner) {
        const unsigned x = corner & 1u, y = corner >> 1u & 1u, z = corner >> 2u;
        const double charge = (x + y + z) % 2 == 0 ? 1 : -1;
        const std::size_t i = ions.append(Component::Halo, charge);
        ions.x[i] = x;
        ions.y[i] = y;
        ions.z[i] = z;
        known.potential.push_back(-madelung * charge);
    }
    const Keys box = {{"interaction", "coulomb"}, {"box.periodic", "xyz"}, {"box.x", "2"}, {"box.y", "2"}, {"box.z", "2"},
                      {"ewald.accuracy", "1e-9"}};
    return accept("rock salt in a periodic box, and Madelung's constant", largest_error(forces(engine, ions, box), known), 1e-6);
}

/// What ranks made of the sphere; the same on all of them.
struct Sharing {
    std::vector<std::int64_t> bodies; ///< each rank's by decompose; the last item: bodies without a rank
    double error = 0;                 ///< of forces
};

/// Collective: rank r brings bodies r, r + size, r + 2 size ...
Sharing share(const Engine& engine, const graft_comm_v1& rank) {
    const Snapshot all = sphere();
    Snapshot own;
    for (auto i = static_cast<std::size_t>(rank.rank); i < all.size(); i += static_cast<std::size_t>(rank.size)) {
        const std::size_t k = own.append(Component::Halo, all.mass[i]);
        own.x[k] = all.x[i];
        own.y[k] = all.y[i];
        own.z[k] = all.z[i];
        own.id[k] = static_cast<std::int64_t>(i);
    }
    Deck deck(engine);
    fill(deck, accurate);
    deck.set("threads", "1");
    Solver solver(deck, rank);
    Sharing result{std::vector<std::int64_t>(static_cast<std::size_t>(rank.size) + 1), 0};
    for (const std::int32_t owner : solver.decompose(own, own.id)) {
        ++result.bodies[static_cast<std::size_t>(owner >= 0 && owner < rank.size ? owner : rank.size)];
    }
    Field field;
    field.potential.resize(own.size());
    solver.compute(own, field, false, false);
    result.error = largest_error(field, forces(engine, all, direct), static_cast<std::size_t>(rank.rank),
                                 static_cast<std::size_t>(rank.size));
    void* bodies = result.bodies.data();
    engine.require(rank.comm_allreduce(rank.self, bodies, bodies, rank.size + 1, GRAFT_I64, GRAFT_COMM_SUM), "between ranks");
    engine.require(rank.comm_allreduce(rank.self, &result.error, &result.error, 1, GRAFT_F64, GRAFT_COMM_MAX), "between ranks");
    return result;
}

/// By the ranks that mpiexec has started; without, by two threads.
Sharing share(const Engine& engine) {
    if (const graft_comm_v1* table = Ranks::here().table(); table != nullptr) {
        return share(engine, *table);
    }
    std::array<graft_comm_v1*, 2> ranks{};
    engine.require(engine.api().comm_create_threads(2, ranks.data()), "threads as ranks");
    std::vector<std::future<Sharing>> threads;
    for (graft_comm_v1* rank : ranks) {
        threads.push_back(std::async(std::launch::async, [&engine, rank] {
            try {
                return share(engine, *rank);
            } catch (const std::exception& error) {
                rank->comm_fail(rank->self, error.what()); // the other would wait
                throw;
            }
        }));
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        threads[r].wait();
        ranks[r]->comm_free(ranks[r]);
    }
    threads[1].get();
    return threads[0].get();
}

std::string ranks_here() {
    const Ranks& here = Ranks::here();
    return here.table() == nullptr ? "2 ranks that are threads"
                                   : std::to_string(here.size()) + (here.alone() ? " rank of " : " ranks of ") + here.mpi();
}

std::string forces_of_ranks(const Engine& engine) {
    return accept(ranks_here() + ", and all pairs on one", share(engine).error, accurate_limit);
}

std::string decomposition(const Engine& engine) {
    std::vector<std::int64_t> bodies = share(engine).bodies;
    const std::int64_t lost = bodies.back();
    bodies.pop_back();
    const auto [least, most] = std::minmax_element(bodies.begin(), bodies.end());
    const std::string found = std::to_string(*least) + " to " + std::to_string(*most) + " a rank";
    if (*most - *least > 1 || std::accumulate(bodies.begin(), bodies.end(), std::int64_t{0}) != 3001) {
        throw Error({"3001 bodies divided among " + ranks_here(), "", "each with a rank, and as many on each, or one more",
                     found + ", without a rank " + std::to_string(lost), next_step});
    }
    return "3001 bodies divided among " + ranks_here() + ": " + found;
}

/// Runs this command on two ranks; $1: the MPI's family, $2: what the version of its mpiexec says. Exit status 99: there is none.
/// Unless told, Open MPI starts nothing for root, and no more ranks than cores (version 4's word for that, and version 5's).
constexpr const char* two_ranks = R"shell(exec </dev/null 2>&1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_LOG_LEVEL=error
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
for start in mpiexec.$1 mpiexec; do
    if timeout 20 $start --version | grep -q "$2"; then
        exec timeout 60 $start -n 2 "$(readlink /proc/$PPID/exe)" selftest --mpi $1
    fi
done
exit 99)shell";

/// Two ranks of an MPI, where its shim and its mpiexec are here.
std::string mpi(const std::string& family, const std::string& name, const std::string& version) {
    unsetenv("GRAFT_MPI_LIBRARY"); // it would stand for both families
    std::array<char, 4096> text{};
    std::int32_t status = GRAFT_OK;
    void* shim = graft_open_mpi_shim(family.c_str(), &status, text.data(), static_cast<std::int64_t>(text.size()));
    Dl_info file{};
    if (shim == nullptr || dladdr(dlsym(shim, "graft_mpi_error"), &file) == 0) {
        const std::string tried = text.data(); // a line a place
        throw NotHere({tried.substr(tried.rfind('\n') + 1), "", "", "", ""});
    }
    setenv("GRAFT_MPI_LIBRARY", file.dli_fname, 1); // the ranks take the same
    const std::string line = "set -- " + family + " '" + version + "'; " + two_ranks, words = "selftest --mpi " + family;
    std::FILE* pipe = mpi_family("auto").empty() ? popen(line.c_str(), "r") : nullptr;
    std::string said;
    while (pipe != nullptr && std::fgets(text.data(), static_cast<int>(text.size()), pipe) != nullptr) {
        said += text.data();
    }
    const int raw = pipe != nullptr ? pclose(pipe) : -1;
    if (pipe == nullptr || (WIFEXITED(raw) && WEXITSTATUS(raw) == 99)) {
        const char* why = pipe == nullptr ? ": this runs under an mpiexec" : ": no mpiexec of it in PATH";
        throw NotHere({"the shim for " + name + " opens, more is not tried" + why, "", "", "", "mpiexec -n 2 graft " + words});
    }
    if (raw != 0 || said.find("2 ranks of " + name) == std::string::npos) {
        throw Error({"2 ranks of " + name, "", "that they pass within a minute", said, "mpiexec -n 2 graft " + words});
    }
    return "2 ranks of " + name + ", by its mpiexec, pass";
}

constexpr SelfCheck checks[] = {
    {"library", "cpu", library},
    {"ranks", "cpu", forces_of_ranks},
    {"decompose", "cpu", decomposition},
    {"paper", "cpu", on_paper},
    {"direct", "cpu", plain_sums},
    {"tree", "cpu", tree},
    {"periodic", "cpu", rock_salt},
    {"gpu", "gpu", gpu},
    {"mpich", "mpi", [](const Engine&) { return mpi("mpich", "MPICH", "HYDRA"); }},
    {"openmpi", "mpi", [](const Engine&) { return mpi("openmpi", "Open MPI", "(Open"); }},
};

} // namespace

std::span<const SelfCheck> self_checks(bool among_ranks) {
    return std::span(checks).first(among_ranks ? 3 : std::size(checks));
}

} // namespace graft::cli
