// SPDX-License-Identifier: BSD-3-Clause
// N_leaf and N_group, and the blocks of liu2022's GPU kernels, by the model, or by the model and then by
// trial over the first evaluations.
//
// The first evaluation of all particles counts with the settings' sizes; on a GPU, which chooses where they
// leave it to, with its own. `model` takes the model's best from
// then on, if it is a tenth better: built-in costs only, so the same bits in every run. `trial` evaluates
// with the start's sizes and the most promising others by turns (results are right all the while, nothing is
// computed twice) and keeps the start unless another was faster beyond the scatter that was seen. Both begin
// again when the number of particles has changed by half, or the place (CPU or GPU, study.kernel). One rank,
// boxes without images; elsewhere the settings' sizes stay. Source: liu2022, section 4 (sizes matter),
// model/tree_sizes.hpp.
#pragma once

#include "model/tree_sizes.hpp"
#include "settings/settings.hpp"

#include <string>
#include <vector>

namespace graft::engine {

struct Report;

enum class TreeSizesBy : int32_t { fixed = 0, model = 1, trial = 2 };

/// Whose times an evaluation with these settings takes.
model::TreeKernels tree_kernels(const settings::Settings& settings, bool on_gpu);

class TreeTuning {
  public:
    /// leaf_given, group_given: the user's, which stay; blocks are, where the settings have them. machine:
    /// the numbers of the GPU, NULL: built in.
    void set(TreeSizesBy by, bool leaf_given, bool group_given, const model::Machine* machine = nullptr);

    /// Puts the sizes of the next evaluation into `settings`. whole: of all particles at themselves; others
    /// use what is known by then and teach nothing. why_not: "" or why sizes stay as they are.
    void before(settings::Settings& settings, int64_t particles, bool whole, const char* why_not, bool on_gpu = false);
    /// After it: learns from the report's counts and times, fills told(). leaf, group: what it used.
    /// room_bytes: of a GPU's memory for all arrays of an evaluation, 0: enough; sizes that need more are
    /// left out. Read where compares() was true only.
    void after(const Report& report, int32_t leaf, int32_t group, int64_t room_bytes = 0);
    /// Whether after() is to compare sizes for the first time.
    bool compares() const { return whole_ && contenders_.empty(); }
    /// Instead of after(), where there was no memory for it: those sizes are not taken again.
    void no_memory();

    /// What is told of the last evaluation.
    struct Told {
        model::TreeSizes sizes;     // in use; 0: no tree has been built, or no kernel with blocks
        model::TreeTimes predicted; // all 0: nothing was predicted
        std::string by;             // who chose them: "fixed", ...
    };
    const Told& told() const { return told_; }

  private:
    struct Contender {
        model::TreeChoice choice;
        std::vector<double> seconds; // of its rounds
    };
    void begin_again(model::TreeSizes asked, int64_t particles);
    model::TreeSizes asked_of(const settings::Settings& settings, model::TreeKernels kernels) const;
    bool all_given(const settings::Settings& settings, model::TreeKernels kernels) const;
    std::vector<Contender>::iterator running();
    bool fits(const model::TreeSizes& sizes, int64_t room_bytes) const;
    void rank(const Report& report, int64_t room_bytes);
    void next_turn();
    void settle();

    TreeSizesBy by_ = TreeSizesBy::fixed;
    bool leaf_given_ = false, group_given_ = false;
    int64_t particles_ = -1;
    model::TreeSizes asked_, start_,
        now_; // by the settings (0: the GPU's choice), of the first one, of the next
    model::BlockShape given_block_;
    model::TreeKernels kernels_ = model::TreeKernels::cpu;
    model::PaperGpu gpu_;
    int32_t buffer_ = 0; // the settings'
    int dimension_ = 3, order_ = 2;
    settings::Precision precision_ = settings::Precision::mixed;
    std::vector<Contender> contenders_; // the start first; empty: nothing counted yet
    size_t chosen_ = 0, turn_ = 0;
    int round_ = 0;
    double ratio_ = 0; // of this machine over the model's; 0: not timed yet
    bool settled_ = false, whole_ = false;
    std::string why_not_, verdict_;
    Told told_;
};

} // namespace graft::engine
