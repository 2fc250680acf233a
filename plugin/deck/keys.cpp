// The table of deck keys: the one place where a key is written down.
#include "deck/schema.hpp"

namespace graft::plugin {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Range positive = {0, infinity, true, true};
constexpr Range not_negative = {0, infinity, false, true};
constexpr double largest_whole = std::numeric_limits<int32_t>::max();
constexpr Range any_number = {-infinity, infinity, true, true};
constexpr Range count = {0, largest_count};

constexpr Choice methods[] = {
    {"direct", GRAFT_METHOD_DIRECT}, {"tree", GRAFT_METHOD_TREE}, {"reference", GRAFT_METHOD_REFERENCE}};
constexpr Choice backends[] = {
    {"auto", GRAFT_BACKEND_AUTO}, {"cpu", GRAFT_BACKEND_CPU}, {"cuda", GRAFT_BACKEND_CUDA}};
constexpr Choice precisions[] = {
    {"fp32", GRAFT_PRECISION_FP32}, {"mixed", GRAFT_PRECISION_MIXED}, {"fp64", GRAFT_PRECISION_FP64}};
constexpr Choice interactions[] = {{"gravity", GRAFT_INTERACTION_GRAVITY},
                                   {"coulomb", GRAFT_INTERACTION_COULOMB}};
constexpr Choice trees[] = {{"octree", GRAFT_TREE_OCTREE}, {"orb", GRAFT_TREE_ORB}};
constexpr Choice criteria[] = {{"edge", GRAFT_MAC_EDGE}, {"box", GRAFT_MAC_BOX}, {"error", GRAFT_MAC_ERROR}};
constexpr Choice softenings[] = {
    {"none", GRAFT_SOFTENING_NONE}, {"plummer", GRAFT_SOFTENING_PLUMMER}, {"spline", GRAFT_SOFTENING_SPLINE}};
constexpr Choice walks[] = {{"group", GRAFT_WALK_GROUP}, {"transposed", GRAFT_WALK_TRANSPOSED}};
/// settings::Local; kept in the padding of graft_options_values, where 0 stood.
constexpr Choice locals[] = {{"auto", GRAFT_LOCAL_AUTO}, {"off", GRAFT_LOCAL_OFF}, {"on", GRAFT_LOCAL_ON}};
constexpr Choice scopes[] = {{"local", GRAFT_SCOPE_LOCAL}, {"global", GRAFT_SCOPE_GLOBAL}};
constexpr Choice exchanges[] = {{"push", GRAFT_EXCHANGE_PUSH}, {"fetch", GRAFT_EXCHANGE_FETCH}};
constexpr Choice shapes[] = {{"orb", GRAFT_SHAPE_ORB}, {"prefix", GRAFT_SHAPE_PREFIX}};
constexpr Choice strategies[] = {{"level", GRAFT_STRATEGY_LEVEL},
                                 {"halving", GRAFT_STRATEGY_HALVING},
                                 {"central", GRAFT_STRATEGY_CENTRAL}};
constexpr Choice finders[] = {{"histogram", GRAFT_FINDER_HISTOGRAM},
                              {"bisection", GRAFT_FINDER_BISECTION},
                              {"sampled", GRAFT_FINDER_SAMPLED}};
constexpr Choice curves[] = {{"hilbert", GRAFT_CURVE_HILBERT}, {"morton", GRAFT_CURVE_MORTON}};
constexpr Choice balancers[] = {{"orb-central", GRAFT_BALANCER_ORB_CENTRAL},
                                {"orb-distributed", GRAFT_BALANCER_ORB_DISTRIBUTED},
                                {"prefix-central", GRAFT_BALANCER_PREFIX_CENTRAL},
                                {"prefix-distributed", GRAFT_BALANCER_PREFIX_DISTRIBUTED}};
constexpr Choice costs[] = {{"interactions", GRAFT_COST_INTERACTIONS},
                            {"time", GRAFT_COST_TIME},
                            {"given", GRAFT_COST_GIVEN},
                            {"count", GRAFT_COST_COUNT}};
constexpr Choice cuda_builds[] = {{"fused", GRAFT_CUDA_BUILD_FUSED},
                                  {"levels", GRAFT_CUDA_BUILD_LEVELS},
                                  {"two-phase", GRAFT_CUDA_BUILD_TWO_PHASE}};
constexpr Choice cuda_walks[] = {{"auto", GRAFT_CUDA_WALK_AUTO},
                                 {"thread", GRAFT_CUDA_WALK_THREAD},
                                 {"warp", GRAFT_CUDA_WALK_WARP},
                                 {"super", GRAFT_CUDA_WALK_SUPER}};
constexpr Choice cuda_kernels[] = {{"auto", GRAFT_CUDA_KERNEL_AUTO},
                                   {"units", GRAFT_CUDA_KERNEL_UNITS},
                                   {"block", GRAFT_CUDA_KERNEL_BLOCK},
                                   {"pairs-1d", GRAFT_CUDA_KERNEL_PAIRS_1D},
                                   {"tiles-2d", GRAFT_CUDA_KERNEL_TILES_2D}};
constexpr Choice cuda_stages[] = {{"plain", GRAFT_CUDA_STAGE_PLAIN},
                                  {"tiled", GRAFT_CUDA_STAGE_TILED},
                                  {"unrolled", GRAFT_CUDA_STAGE_UNROLLED},
                                  {"best", GRAFT_CUDA_STAGE_BEST}};
constexpr Choice cuda_graphs[] = {
    {"auto", GRAFT_CUDA_GRAPH_AUTO}, {"never", GRAFT_CUDA_GRAPH_NEVER}, {"always", GRAFT_CUDA_GRAPH_ALWAYS}};
constexpr Choice near_layouts[] = {{"auto", 0},
                                   {"indexed", GRAFT_NEAR_LAYOUT_INDEXED},
                                   {"ranges", GRAFT_NEAR_LAYOUT_RANGES},
                                   {"replicated", GRAFT_NEAR_LAYOUT_REPLICATED},
                                   {"replicated_interleaved", GRAFT_NEAR_LAYOUT_REPLICATED_INTERLEAVED},
                                   {"replicated_group", GRAFT_NEAR_LAYOUT_REPLICATED_GROUP},
                                   {"tiled", GRAFT_NEAR_LAYOUT_TILED},
                                   {"tiled_split", GRAFT_NEAR_LAYOUT_TILED_SPLIT},
                                   {"replicated_packed", GRAFT_NEAR_LAYOUT_REPLICATED_PACKED},
                                   {"replicated_group_padded", GRAFT_NEAR_LAYOUT_REPLICATED_GROUP_PADDED}};
constexpr Choice near_precisions[] = {{"same", 0},
                                      {"fp32", GRAFT_NEAR_PRECISION_FP32},
                                      {"mixed", GRAFT_NEAR_PRECISION_MIXED},
                                      {"fp64", GRAFT_NEAR_PRECISION_FP64}};
constexpr Choice periodicities[] = {{"none", 0}, {"xyz", 1}, {"yz", 2}, {"xz", 3},
                                    {"xy", 4},   {"x", 5},   {"y", 6},  {"z", 7}};
/// Kept in the padding of graft_options_values, where 0 stood.
constexpr Choice lattice_methods[] = {{"split", 0}, {"replicas", 1}};
constexpr Choice log_levels[] = {{"error", GRAFT_LOG_ERROR},
                                 {"warning", GRAFT_LOG_WARNING},
                                 {"info", GRAFT_LOG_INFO},
                                 {"debug", GRAFT_LOG_DEBUG}};

using Values = graft_options_values;

constexpr Key choice(const char* name, const char* meaning, std::span<const Choice> words,
                     int32_t Values::*field) {
    return {.name = name,
            .type = Type::choice,
            .unit = "",
            .meaning = meaning,
            .choices = words,
            .integer = field};
}

constexpr Key whole(const char* name, const char* unit, const char* meaning, Range range,
                    int32_t Values::*field) {
    return {.name = name,
            .type = Type::integer,
            .unit = unit,
            .meaning = meaning,
            .range = range,
            .integer = field};
}

constexpr Key real(const char* name, const char* unit, const char* meaning, Range range,
                   double Values::*field) {
    return {
        .name = name, .type = Type::real, .unit = unit, .meaning = meaning, .range = range, .real = field};
}

constexpr Key truth(const char* name, const char* meaning, int32_t Values::*field) {
    return {.name = name, .type = Type::boolean, .unit = "", .meaning = meaning, .integer = field};
}

/// A key that is kept for the host: the engine does not read it.
constexpr Key kept(const char* name, Type type, const char* unit, const char* meaning, Range range = {},
                   const char* fallback = nullptr) {
    return {
        .name = name, .type = type, .unit = unit, .meaning = meaning, .range = range, .fallback = fallback};
}

constexpr Key log_level = {.name = "log.level",
                           .type = Type::choice,
                           .unit = "",
                           .meaning = "how much the host should pass on of what Graft has to say",
                           .choices = log_levels,
                           .fallback = "warning"};

constexpr Choice tree_sizes_words[] = {{"fixed", 0}, {"model", 1}, {"trial", 2}};
constexpr Key tree_sizes = {.name = "tree.sizes",
                            .type = Type::choice,
                            .unit = "",
                            .meaning =
                                "what chooses leaf and group, and the blocks of cuda.kernel pairs-1d and "
                                "tiles-2d, where these are 0, on "
                                "one rank: fixed numbers; a model of the first evaluation's counts; or "
                                "trials among the model's best over "
                                "the first 21 evaluations, whose last bits may then differ from run to run",
                            .choices = tree_sizes_words,
                            .fallback = "fixed"};

constexpr Key keys[] = {
    choice("method",
           "how forces are summed: all pairs, a tree code, or slow compensated sums to compare with", methods,
           &Values::method),
    choice("backend",
           "what computes: auto takes the GPU where there is one, and says in the log what and why", backends,
           &Values::backend),
    choice("precision", "fp32; fp64; mixed: fp32 pairs relative to the group of targets, summed in fp64",
           precisions, &Values::precision),
    choice("interaction", "gravity: charges are masses and attract; coulomb: like charges repel",
           interactions, &Values::interaction),
    whole("dimension", "", "space dimensions of the tree and the positions", {2, 3}, &Values::dimension),
    whole("threads", "", "threads to use; 0: as many as the host's OpenMP would", {0, 4096},
          &Values::threads),
    real("constant", "length^3 mass^-1 time^-2, or Coulomb's",
         "the constant in front of the force law; not together with units", positive, &Values::constant),
    whole("order", "", "order of the multipole expansion: 0 monopole ... 4 hexadecapole", {0, 4},
          &Values::order),
    choice("walk", "group: lists per group of targets; transposed: one pass over the source nodes", walks,
           &Values::walk),
    choice("local",
           "criterion error: cells far from a group become one polynomial of the group; auto: where faster",
           locals, &Values::local),
    choice("tree.type", "octree along Morton keys, or binary tree by orthogonal bisection", trees,
           &Values::tree_type),
    whole("tree.leaf", "particles", "most particles in a leaf; 0: chosen for what computes", {0, 4096},
          &Values::tree_leaf),
    whole("tree.group", "particles", "most targets that share one list; 0: chosen for what computes",
          {0, 1024}, &Values::tree_group),
    tree_sizes,
    choice("tree.scope",
           "many ranks: local, a root for each rank's tree; global, one for all (all particles: same forces "
           "for any number of ranks)",
           scopes, &Values::tree_scope),
    choice("mac.type",
           "when a node is far enough: edge (size/distance), box (tight group box), error (estimate)",
           criteria, &Values::mac_type),
    real("mac.theta", "",
         "opening angle (error: its upper limit, where above 0.85 changes nothing): smaller is more accurate "
         "and slower",
         {0, 2}, &Values::mac_theta),
    real("mac.accuracy", "",
         "criterion error: force error per node, relative to the last acceleration. Within a factor of two "
         "the "
         "error of 99 of 100 forces, down to 1e-3 at order 1, 1e-4 at order 2, 2e-5 at order 3, 3e-6 at "
         "orders "
         "0 and 4, and to 2e-6 with precision fp32 or mixed; not where many particles lie within a softening "
         "length of each other",
         {0, 1, true, true}, &Values::mac_accuracy),
    truth("mac.history",
          "criterion error: use the accelerations of the last call (needs the same particles in each)",
          &Values::mac_history),
    choice("softening.kind", "none; plummer; spline: compact, Newtonian beyond its length", softenings,
           &Values::softening_kind),
    real("softening.length", "length", "Plummer length or support of the spline, for all particles",
         not_negative, &Values::softening_length),
    choice(
        "box.periodic",
        "none: a box that fixes the root cube of the tree; xyz: all images of the particles act, with a "
        "uniform background against a net charge or mass; xy, xz, yz: a slab, images along two axes and none "
        "along the third; x, y, z: a wire, images along one axis. Edges along axes without images may be "
        "left out",
        periodicities, &Values::box_periodic),
    real("box.x", "length", "edge along x; box.x, box.y, box.z all 0: no box", not_negative, &Values::box_x),
    real("box.y", "length", "edge along y", not_negative, &Values::box_y),
    real("box.z", "length", "edge along z", not_negative, &Values::box_z),
    real("box.lower_x", "length", "lower corner", any_number, &Values::box_lower_x),
    real("box.lower_y", "length", "lower corner", any_number, &Values::box_lower_y),
    real("box.lower_z", "length", "lower corner", any_number, &Values::box_lower_z),
    real("box.xy", "length", "periodic: tilt of the edge y along x, at most half of box.x", any_number,
         &Values::box_xy),
    real("box.xz", "length", "periodic: tilt of the edge z along x, at most half of box.x", any_number,
         &Values::box_xz),
    real("box.yz", "length", "periodic: tilt of the edge z along y, at most half of box.y", any_number,
         &Values::box_yz),
    choice("ewald.method",
           "periodic boxes: split (Ewald's splitting), or replicas: near images by the tree as in open "
           "boxes, far "
           "ones by moments of the whole box; for method tree, refused where mac.accuracy is beyond it",
           lattice_methods, &Values::ewald_method),
    real("ewald.accuracy", "",
         "periodic boxes: rms force error of the lattice sum over the rms force; mac.accuracy is that of the "
         "tree's cells, which large or crowded boxes use. 0: chosen for precision and method",
         {0, 0.1}, &Values::ewald_accuracy),
    whole("cuda.device", "",
          "which GPU, by CUDA's ordinal; -1: the one that holds the arrays, else the first, or by rank",
          {-1, 1023}, &Values::cuda_device),
    real("cuda.memory", "bytes", "most bytes to take on the GPU; 0: what is free", count,
         &Values::cuda_memory_bytes),
    choice(
        "cuda.build",
        "tree: all levels fused, a launch per level, or a top tree and then its subtrees (on the CPU, too)",
        cuda_builds, &Values::cuda_build),
    whole("cuda.top_depth", "levels", "build two-phase: levels of the top tree", {1, 9},
          &Values::cuda_top_depth),
    choice("cuda.walk",
           "lists: a thread per group (gaburov2010), a warp per group, groups of groups, or the faster of "
           "these two",
           cuda_walks, &Values::cuda_walk),
    choice("cuda.kernel",
           "forces from lists: units (ours), block per group (gaburov2010), pairs-1d and tiles-2d (liu2022; "
           "their atomics change last bits from run to run, so auto never takes them)",
           cuda_kernels, &Values::cuda_kernel),
    choice("cuda.direct_stage", "method direct: stage of optimisation (thuering2023)", cuda_stages,
           &Values::cuda_direct_stage),
    whole("cuda.block_x", "", "width of the kernels that let one choose it; 0: chosen", {0, 1024},
          &Values::cuda_block_x),
    whole("cuda.block_y", "", "height of the kernels that let one choose it; 0: chosen", {0, 1024},
          &Values::cuda_block_y),
    kept("cuda.buffer", Type::integer, "interactions",
         "pairs-1d and tiles-2d on one rank, not periodic: the host has the lists and feeds the kernels "
         "through buffers of "
         "so many (liu2022); -1: as many as a model of the first evaluation's lists, then trials over the "
         "next ones find best; 0: the lists stay on the GPU. Refused with other kernels, which take no "
         "buffers",
         {-1, 1 << 20}, "0"),
    choice("cuda.graph", "replay evaluations as a CUDA graph: auto does where it pays, at small n",
           cuda_graphs, &Values::cuda_graph),
    real("cuda.list_bytes", "bytes", "lists larger than this are made and used in batches; 0: chosen", count,
         &Values::cuda_list_bytes),
    whole("cuda.list_reuse", "evaluations", "how many evaluations lists are kept for; 0: made anew in each",
          {0, 1000000}, &Values::cuda_list_reuse),
    real("cuda.list_skin", "length", "how far each particle may move while lists are kept", not_negative,
         &Values::cuda_list_skin),
    choice("near_field.layout",
           "how a near-field plan keeps its points: auto takes what is predicted to be fastest", near_layouts,
           &Values::near_layout),
    choice("near_field.precision", "of near-field plans: same as `precision`, or of their own",
           near_precisions, &Values::near_precision),
    whole("near_field.box", "points", "most points in a box that a near-field plan makes; 0: 15",
          {0, largest_whole}, &Values::near_box),
    real("near_field.memory", "bytes",
         "most bytes of a layout's own arrays, which are made in chunks beyond; 0: on a CPU three quarters "
         "of the memory that is free",
         count, &Values::near_memory_bytes),
    real("near_field.expected_executes", "",
         "executions for one set of coordinates, which share the cost of its collection; 0: unknown, taken "
         "as 10",
         count, &Values::near_expected_executes),
    whole("near_field.devices", "GPUs",
          "most GPUs of this host, from cuda.device on, that sum one near-field plan: as many of them as are "
          "predicted to be fastest; 0: one",
          {0, 64}, &Values::near_devices),
    kept(
        "near_field.machine", Type::input_path, "",
        "machine file that `graft model calibrate --out FILE` wrote on this machine: layout auto predicts "
        "with its numbers, tree.sizes with those of its GPU; left out: the environment's GRAFT_MACHINE, else "
        "built-in numbers"),
    choice("ranks.exchange",
           "push: ranks send what the domains of the others may need; fetch: they fetch nodes on demand",
           exchanges, &Values::ranks_exchange),
    real("comm.deadline_s", "s", "a rank that waits longer for the others fails; 0: waits for ever", {0, 1e9},
         &Values::comm_deadline_s),
    choice("decompose.shape", "orb: orthogonal recursive bisection; prefix: pieces of a space-filling curve",
           shapes, &Values::decompose_shape),
    choice("decompose.strategy",
           "level: all cells of a level at once; halving: ranks and particles halved together; central: one "
           "rank solves",
           strategies, &Values::decompose_strategy),
    choice("decompose.finder", "how cuts are found; all of them find the same ones", finders,
           &Values::decompose_finder),
    choice("decompose.curve", "shape prefix: the curve", curves, &Values::decompose_curve),
    whole("decompose.parts", "", "parts to make; 0: as many as there are ranks", {0, 16777216},
          &Values::decompose_parts),
    real("decompose.tolerance", "", "how far a cut may miss its weight, in mean weights of a part; 0: exact",
         {0, 1}, &Values::decompose_tolerance),
    real("decompose.mix", "", "weight of a particle: 0 counts it as 1 (memory) ... 1 takes its cost (work)",
         {0, 1}, &Values::decompose_mix),
    whole("decompose.cap", "particles", "most particles in a part; 0: any number", {0, largest_whole},
          &Values::decompose_cap),
    whole("decompose.threshold_a", "particles", "halving: smaller groups of ranks are solved centrally",
          {0, largest_whole}, &Values::decompose_threshold_a),
    whole("decompose.threshold_b", "particles",
          "halving: points of a bin that are collected instead of binned again (liu2022); 0: never, bins "
          "narrow down to one",
          {0, largest_whole}, &Values::decompose_threshold_b),
    whole("decompose.bins", "", "bins of a histogram; 0: chosen", {0, 65536}, &Values::decompose_bins),
    choice("balance.kind", "what makes the new domains: one rank or all of them, by bisection or curve",
           balancers, &Values::balance_kind),
    choice("balance.cost", "what a particle costs: the last force evaluation, the host's array, or 1", costs,
           &Values::balance_cost),
    real("balance.tolerance", "", "balance when the busiest rank has more than this many times the mean",
         {1, 1000}, &Values::balance_tolerance),
    real("balance.steps", "steps", "force evaluations until the host asks again: what balancing must earn in",
         positive, &Values::balance_steps),
    truth("balance.force", "take every result, also one that is not worth it", &Values::balance_force),
    truth("balance.fuzzy", "swap a super-object at a cut for small ones", &Values::balance_fuzzy),
    real("balance.super", "", "a super-object weighs more than this many times the mean object", positive,
         &Values::balance_super),
    log_level,
    kept("units.length", Type::length, "", "size of the host's length unit: \"kpc\", \"0.5 kpc\", \"1e3*m\""),
    kept("units.mass", Type::mass, "", "size of the host's mass unit: \"Msun\", \"1e10Msun\""),
    kept("units.time", Type::time, "", "size of the host's time unit: \"Gyr\", \"ps\""),
    kept("units.charge", Type::charge, "", "size of the host's charge unit, for interaction coulomb: \"e\""),
    kept("run.input", Type::input_path, "", "snapshot that `graft run` starts from"),
    kept("run.output", Type::path, "",
         "where `graft run` writes: snapshots, energies, restarts begin with this", {}, "graft"),
    kept("run.time_step", Type::real, "time", "length of a leapfrog step", positive),
    kept("run.steps", Type::integer, "", "steps to take", count),
    kept("run.snapshot_every", Type::integer, "steps", "steps between snapshots; 0: first and last only",
         count, "0"),
    kept("run.energy_every", Type::integer, "steps", "steps between lines of the energy log; 0: never", count,
         "1"),
    kept("run.restart", Type::boolean, "", "continue from the restart file of run.output", {}, "false"),
    kept("run.progress", Type::boolean, "", "show a progress bar (plain lines when not a terminal)", {},
         "true"),
};

} // namespace

std::span<const Key> schema() {
    return keys;
}

} // namespace graft::plugin
