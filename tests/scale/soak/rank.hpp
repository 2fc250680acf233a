// SPDX-License-Identifier: BSD-3-Clause
// One rank of a case: its arrays, its calls with what goes wrong in them, and the verdict on what came.
//
// A case is judged by what it has to say: never a value that is not finite with status OK, never a byte written
// beside the items asked for or on failure, right answers by sums in long double, and nothing kept by the
// allocator at the end. What ranks must agree on is judged by who sees them all (library.py).
#pragma once

#include "arrays.hpp"
#include "faults.hpp"
#include "oracle.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

namespace soak {

inline constexpr size_t most_judged = 24;     // targets of a case that are summed again
inline constexpr size_t most_paired = 10000; // particles of which all pairs are summed
inline const graft_api_v1* api = nullptr;

struct Verdict {
    std::string word = "ok"; // the first thing that is wrong
    std::string detail;
    double worst = 0;            // error over tolerance
    bool lost_in_single = false; // right only by what that rule allows
    bool beyond = false;         // status VALUE, and the arrays cannot hold an exact answer
    int32_t status = GRAFT_OK;

    void blame(const std::string& what, const std::string& more = "") {
        if (word != "ok")
            return;
        word = what;
        detail = more;
    }
};

/// How far from the exact sum an answer may be, over the sum of absolute values.
inline double tolerance_of(const Case& c, bool single) {
    const std::string precision = c.deck("precision", "mixed"), method = c.deck("method", "tree");
    const bool in_double = precision == "fp64" || method == "reference";
    double t = in_double ? 1e-11 : precision == "mixed" ? 2e-5 : 2e-4;
    if (c.deck("box.periodic", "none") != "none") // ewald.accuracy is an rms over the rms force
        t = std::max(t, method == "reference" ? 1e-9 : 3e-3);
    if (method == "tree") { // at order 1 all quadrupoles of bodies on a line point one way
        const std::string order = c.deck("order", "2");
        t = std::max(t, (order == "0" ? 5 : order == "1" ? 3 : 1) * (c.deck("mac.type", "error") == "error" ? 0.03 : 0.08));
        if (c.deck("mac.type", "error") != "error" && std::stod(c.deck("mac.theta", "1")) > 0.57)
            t = std::max(t, 0.5); // a node's mass may stand in one corner, sqrt(3) edges from the other: series need not converge
    }
    return single ? std::max(t, 1e-6) : t;
}

/// In the calls of the communicator, by number.
inline Fault fault_of(const Case& c) {
    if (c.whole("kill", 0) != 0)
        return {Fault::kill, c.whole("kill", 0)};
    if (c.whole("stall", 0) != 0)
        return {Fault::stall, c.whole("stall", 0)};
    return {Fault::fail, c.whole("fail", 0)};
}

/// One rank's share of a case.
class Rank {
  public:
    Rank(const Case& c, const Scene& scene, int rank, int size, graft_comm_v1* comm)
        : case_(c), scene_(scene), single_(c.text("type") == "f32"),
          begin_(scene.charge.size() * static_cast<size_t>(rank) / static_cast<size_t>(size)),
          end_(scene.charge.size() * static_cast<size_t>(rank + 1) / static_cast<size_t>(size)),
          at_points_(c.text("targets") == "points"), faulty_(rank == c.whole("fault_rank", 0) % size),
          sums_(c.whole("sums", 0) != 0),
          allocator_(faulty_ ? c.whole("alloc", 0) : 0), inner_(comm) {
        if (comm != nullptr)
            comm_ = std::make_unique<Comm>(comm, faulty_ ? fault_of(c) : Fault{});
        leaves_ = faulty_ && c.whole("leave", 0) != 0 && comm != nullptr;
        prepare();
    }

    void run() {
        if (leaves_) {
            inner_->comm_fail(inner_->self, "this rank leaves");
            verdict.status = GRAFT_ERROR_COMMUNICATION;
            return;
        }
        graft_options* options = nullptr;
        note(api->options_create(&options));
        for (const auto& [key, value] : case_.deck())
            if (verdict.status == GRAFT_OK)
                note(api->options_set(options, key.c_str(), value.c_str()));
        graft_context* context = nullptr;
        if (verdict.status == GRAFT_OK)
            note(api->context_create(options, allocator_.table(), &context));
        if (context != nullptr)
            compute(context);
        api->context_destroy(&context);
        api->options_destroy(&options);
        if (allocator_.living() != 0)
            verdict.blame("kept memory", std::to_string(allocator_.living()) + " pieces");
    }

    /// Whether what was to go wrong here has.
    bool faulty() const { return allocator_.fired() || (comm_ && comm_->fired()) || leaves_; }

    /// Of this rank's targets, after all ranks have ended.
    void judge(const Law& law, const Lattice* lattice) {
        verdict.beyond = verdict.status == GRAFT_ERROR_VALUE && !faulty() && beyond(law, lattice);
        if (verdict.status != GRAFT_OK)
            return;
        const Points& targets = at_points_ ? scene_.points : scene_.sources;
        const size_t first = at_points_ ? 0 : begin_;
        const size_t step = std::max<size_t>(1, asked_.size() / most_judged);
        const long double extent = scene_.sources.size() > 0 ? extent_of(scene_) : 0;
        const long double most = lost_in_single();
        for (size_t a = 0; a < asked_.size(); ++a) {
            const size_t i = asked_[a];
            if (!is_finite(i))
                return verdict.blame("not finite", "target " + std::to_string(first + i));
            if (a % step != 0 || case_.text("oracle") == "none")
                continue;
            const auto own = at_points_ ? int64_t{-1} : static_cast<int64_t>(first + i);
            const Exact e = lattice != nullptr ? lattice->at(targets, first + i, own, most)
                                               : exact_at(law, scene_, targets, first + i, own, extent, most);
            compare(i, e, first + i, tolerance_of(case_, single_));
        }
        if (sums_ && case_.text("oracle") != "none")
            judge_sums(sums_of(law, lattice, most));
    }

    Verdict verdict;

  private:
    /// Energy and virial (xx yy zz xy xz yz) of all ranks' targets.
    struct Sums {
        static constexpr int count = 7;
        long double value[count] = {}, size[count] = {}, close[count] = {};
        void add(int k, long double term, long double absolute, long double lost) {
            value[k] += term, size[k] += absolute, close[k] += lost;
        }
    };

    Sums sums_of(const Law& law, const Lattice* lattice, long double most) const {
        constexpr int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
        const Points& at = scene_.sources;
        const long double extent = at.size() > 0 ? extent_of(scene_) : 0;
        Sums sums;
        for (size_t i = 0; i < at.size(); ++i) {
            if (!chosen(i))
                continue;
            const auto own = static_cast<int64_t>(i);
            const Exact e = lattice != nullptr ? lattice->at(at, i, own, most) : exact_at(law, scene_, at, i, own, extent, most);
            const long double q = scene_.charge[i], half = std::abs(q) / 2;
            sums.add(6, q / 2 * e.phi, half * e.phi_size, half * e.phi_close);
            for (int k = 0; k < 6; ++k)
                for (const auto& [a, b] : {std::pair(pairs[k][0], pairs[k][1]), std::pair(pairs[k][1], pairs[k][0])}) {
                    const long double x = static_cast<long double>(at.axis[a][i]) - at.axis[a][0];
                    sums.add(k, q / 2 * x * e.a[b], half * std::abs(x) * e.a_size, half * std::abs(x) * e.a_close);
                }
        }
        return sums;
    }

    void judge_sums(const Sums& exact) {
        const double t = tolerance_of(case_, false);
        for (int k = first_sum(); k < Sums::count; ++k) {
            if (!std::isfinite(sum_[k]))
                return verdict.blame("not finite", "sum " + std::to_string(k));
            weigh(std::abs(sum_[k] / calls_added_ - exact.value[k]), t * exact.size[k] + 1e-290L, exact.close[k], "sum",
                  static_cast<size_t>(k));
        }
    }

    /// In a periodic box the virial is another sum, and that of all particles.
    int first_sum() const { return case_.deck("box.periodic", "none") != "none" ? 6 : 0; }

    bool chosen(size_t named) const {
        const std::string which = case_.text("targets", "all");
        return which == "all" || which == "points" || named % 3 == 1;
    }

    /// Whether the exact answer to some target cannot be held by the host's arrays: then VALUE is right. In a periodic
    /// box that no oracle sums it may be so.
    bool beyond(const Law& law, const Lattice* lattice) const {
        if (case_.deck("box.periodic", "none") != "none" && case_.text("oracle") == "none")
            return true;
        if (scene_.charge.size() > most_paired)
            return false;
        const Points& targets = at_points_ ? scene_.points : scene_.sources;
        const long double most =
            single_ ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
        for (size_t i = 0; i < targets.size(); ++i) {
            const auto own = at_points_ ? int64_t{-1} : static_cast<int64_t>(i);
            const Exact e = lattice != nullptr ? lattice->at(targets, i, own, 0) : exact_at(law, scene_, targets, i, own);
            if (!(e.a_size < most / 4) || !(e.phi_size < most / 4))
                return true;
        }
        if (!sums_)
            return false;
        const Sums sums = sums_of(law, lattice, 0);
        return std::any_of(sums.size + first_sum(), sums.size + Sums::count,
                           [](long double size) { return !(size < std::numeric_limits<double>::max() / 4); });
    }

    void note(int32_t status) {
        if (status != GRAFT_OK && verdict.status == GRAFT_OK) {
            verdict.status = status;
            verdict.detail = api->last_error();
        }
    }

    void prepare() {
        const size_t n = end_ - begin_;
        const std::string layout = case_.text("layout", "soa");
        position_ = std::make_unique<Numbers>(n, 3, layout, single_);
        charge_ = std::make_unique<Numbers>(n, 1, layout == "struct" ? layout : "soa", single_);
        for (size_t i = 0; i < n; ++i) {
            charge_->set(i, 0, scene_.charge[begin_ + i]);
            for (int k = 0; k < 3; ++k)
                position_->set(i, k, scene_.sources.axis[k][begin_ + i]);
        }
        const size_t targets = at_points_ ? scene_.points.size() : n;
        if (at_points_) {
            points_ = std::make_unique<Numbers>(targets, 3, layout, single_);
            for (size_t i = 0; i < targets; ++i)
                for (int k = 0; k < 3; ++k)
                    points_->set(i, k, scene_.points.axis[k][i]);
        }
        field_ = std::make_unique<Numbers>(targets, 3, layout, single_);
        potential_ = std::make_unique<Numbers>(targets, 1, "soa", single_);
        choose_targets(targets);
    }

    void choose_targets(size_t n) {
        for (size_t i = 0; i < n; ++i) {
            const bool in = chosen(begin_ + i);
            active_.push_back(in ? 1 : 0);
            if (in)
                asked_.push_back(i);
        }
        for (size_t k = asked_.size(); k > 0; --k)
            list_.push_back(static_cast<int64_t>(asked_[k - 1]));
    }

    void compute(graft_context* context) {
        if (comm_)
            note(api->context_set_communicator(context, comm_->table()));
        call(context);
        const bool again = case_.whole("again", 0) != 0 || (allocator_.fired() && !comm_);
        if (again &&
            verdict.status != GRAFT_ERROR_VALUE) { // what failed once must not have broken the context
            verdict.status = GRAFT_OK;
            call(context);
        }
        if (case_.whole("add", 0) != 0 && verdict.status == GRAFT_OK) { // each result twice
            calls_added_ = 2;
            call(context);
        }
    }

    void call(graft_context* context) {
        graft_particles p{};
        p.struct_size = sizeof p;
        p.n = static_cast<int64_t>(end_ - begin_);
        p.charge = charge_->array(0);
        graft_array chosen{};
        if (case_.text("targets") == "mask")
            p.active = &(chosen = whole_numbers(active_));
        else if (case_.text("targets") == "list")
            p.target_index = &(chosen = whole_numbers(list_));
        graft_particles at{};
        at.struct_size = sizeof at;
        at.n = static_cast<int64_t>(at_points_ ? scene_.points.size() : 0);
        graft_results r{};
        r.struct_size = sizeof r;
        for (int k = 0; k < 3; ++k) {
            p.position[k] = position_->array(k);
            at.position[k] = at_points_ ? points_->array(k) : nullptr;
        }
        graft_array out[6] = {{}, {}, {}, *potential_->array(0), graft_rows_f64(sum_, 1, 6, 0), graft_view_f64(sum_ + 6, 1)};
        for (int k = 0; k < 6; ++k) {
            if (k < 3 && field_->array(k) == nullptr)
                continue;
            if (k < 3)
                out[k] = *field_->array(k);
            out[k].flags = calls_added_ > 1 ? GRAFT_ARRAY_ADD : 0;
            if (k < 3)
                r.acceleration[k] = &out[k];
        }
        r.potential = &out[3];
        r.virial = sums_ && first_sum() == 0 ? &out[4] : nullptr;
        r.energy = sums_ ? &out[5] : nullptr;
        field_->watch();
        potential_->watch();
        double sums_before[Sums::count];
        std::copy_n(sum_, Sums::count, sums_before);
        note(at_points_ ? api->field_at(context, &p, &at, &r) : api->compute(context, &p, &r));
        if (verdict.status == GRAFT_OK)
            for (const size_t i : asked_) {
                field_->allow(i);
                potential_->allow(i);
            }
        const bool sums_differ = verdict.status != GRAFT_OK && !std::equal(sum_, sum_ + Sums::count, sums_before);
        if (field_->differs() || potential_->differs() || sums_differ)
            verdict.blame(verdict.status == GRAFT_OK ? "wrote elsewhere" : "wrote on failure");
    }

    bool is_finite(size_t i) const {
        return std::isfinite(field_->get(i, 0)) && std::isfinite(field_->get(i, 1)) &&
               std::isfinite(field_->get(i, 2)) && std::isfinite(potential_->get(i, 0));
    }

    /// The rule for a known weakness: what may be lost of a pair that is close in the frame of the targets, but not so close
    /// that it is summed in double (docs/lab/soak.md).
    long double lost_in_single() const {
        const bool in_double = case_.deck("precision", "mixed") == "fp64" || case_.deck("method", "tree") == "reference";
        return in_double ? 0 : 4e-3L;
    }

    void compare(size_t i, const Exact& e, size_t named, double t) {
        const double least = single_ ? 2e-38 : 1e-290;
        long double error = 0;
        for (int k = 0; k < 3; ++k)
            error = std::max(error, std::abs(field_->get(i, k) / calls_added_ - e.a[k]));
        weigh(error, t * e.a_size + least, e.a_close, "field", named);
        weigh(std::abs(potential_->get(i, 0) / calls_added_ - e.phi), t * e.phi_size + least, e.phi_close, "potential",
              named);
    }

    void weigh(long double error, long double allowed, long double close, const char* what, size_t named) {
        const auto ratio = static_cast<double>(error / (allowed + close));
        verdict.lost_in_single |= ratio <= 1 && error > allowed;
        verdict.worst = std::max(verdict.worst, ratio);
        if (!(ratio <= 1)) {
            char text[96];
            std::snprintf(text, sizeof text, "%s of target %zu: error %.3g of what is allowed", what, named,
                          ratio);
            verdict.blame("wrong", text);
        }
    }

    const Case& case_;
    const Scene& scene_;
    bool single_;
    size_t begin_, end_;
    bool at_points_, faulty_, leaves_ = false, sums_;
    int calls_added_ = 1; // results are the sum of so many calls
    double sum_[Sums::count] = {};
    Allocator allocator_;
    graft_comm_v1* inner_;
    std::unique_ptr<Comm> comm_;
    std::unique_ptr<Numbers> position_, charge_, points_, field_, potential_;
    std::vector<size_t> asked_;
    std::vector<int32_t> active_;
    std::vector<int64_t> list_;
};

} // namespace soak
