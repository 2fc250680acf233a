/* SPDX-License-Identifier: BSD-3-Clause */
/* Constants and structs of the Graft ABI, version 1. C99, fixed-width integers, no enum-typed field.
 *
 * Every struct begins with its own size and flags and ends in reserved words that must be 0. Set a struct up with
 * `graft_x s = {0}; s.struct_size = sizeof s;` (or GRAFT_INIT). The library reads min(struct_size, its own size);
 * a newer struct whose unknown tail is not zero is refused with GRAFT_ERROR_ABI. */
#ifndef GRAFT_TYPES_H
#define GRAFT_TYPES_H

#include <stdint.h>

#define GRAFT_VERSION_MAJOR 1
#define GRAFT_VERSION_MINOR 0
#define GRAFT_VERSION_PATCH 0
#define GRAFT_VERSION_STRING "1.0.0"

#define GRAFT_ABI_MAJOR 1u /* = the soname's number: libgraft.so.1 */
#define GRAFT_ABI_MINOR 0u

/* Statuses: stable numbers, never reused. 0 is success, every other value a failure whose text last_error() gives. */
#define GRAFT_OK 0
#define GRAFT_ERROR_ARGUMENT 100    /* a null pointer, an unknown name, a value out of range */
#define GRAFT_ERROR_ARRAY 101       /* a graft_array whose type, strides or sizes cannot be right */
#define GRAFT_ERROR_VALUE 102       /* data no force can be made of: NaN, infinity, a negative softening length */
#define GRAFT_ERROR_CALL_ORDER 103  /* this call needs another one first */
#define GRAFT_ERROR_UNSUPPORTED 104 /* a documented option that this build or input cannot serve */
#define GRAFT_ERROR_ABI 105         /* a struct of unknown size, or unknown non-zero fields */
#define GRAFT_ERROR_BUSY 106        /* one context used by two threads at the same time */
#define GRAFT_ERROR_ABSENT 107      /* the value asked for does not exist (yet) */
#define GRAFT_ERROR_AGAIN 108       /* a buffer was too small, and GRAFT_RESULTS_NO_REPAIR forbids doing it again inside:
                                       nothing was written; the buffer has grown, so make the same call again */
#define GRAFT_ERROR_MEMORY 200
#define GRAFT_ERROR_DEVICE 300
#define GRAFT_ERROR_COMMUNICATION 400
#define GRAFT_ERROR_DECK_SYNTAX 500
#define GRAFT_ERROR_DECK_KEY 501
#define GRAFT_ERROR_DECK_TYPE 502
#define GRAFT_ERROR_DECK_RANGE 503
#define GRAFT_ERROR_DECK_FILE 504
#define GRAFT_ERROR_LOAD_NOT_FOUND 600 /* loader: no library at any of the paths tried */
#define GRAFT_ERROR_LOAD_FOREIGN 601   /* loader: a library, but not Graft */
#define GRAFT_ERROR_LOAD_VERSION 602   /* loader: Graft, but of another ABI major */
#define GRAFT_ERROR_INTERNAL 900

/* Element types of a graft_array. */
#define GRAFT_F32 1
#define GRAFT_F64 2
#define GRAFT_I32 3
#define GRAFT_I64 4
#define GRAFT_U64 5

/* Where a graft_array lives. The arrays of one call may live in different places. compute, compute_begin, field_at and
 * near fields read and write arrays in device and managed memory there, without a copy through the host; all other calls
 * take host arrays only (UNSUPPORTED says so). Page-locked memory is host memory. Today's device is CUDA's. */
#define GRAFT_MEMORY_AUTO 0 /* let the library find out: the GPU's driver is asked, where a GPU may be used, else the host's */
#define GRAFT_MEMORY_HOST 1
#define GRAFT_MEMORY_DEVICE 2  /* of the GPU with the ordinal `device` */
#define GRAFT_MEMORY_MANAGED 3 /* moves between host and GPU by itself (cudaMallocManaged) */

/* A view of the caller's memory, never owned by Graft. Item i, component c stands at
 * (char *)data + i * item_stride + c * component_stride, and must lie within `bytes` bytes of data.
 *   x(n) alone            components 1, item_stride 8
 *   xyz(3,n) / AoS        components 3, item_stride 24, component_stride 8
 *   xyzh(4,n), positions  components 3, item_stride 32, component_stride 8 (h: another array, data + 24)
 *   SoA (n,3)             components 3, item_stride 8, component_stride 8 n
 * item_stride 0 means packed items (components * element size); component_stride 0 means one element. */
typedef struct graft_array {
    uint32_t struct_size;
    uint32_t flags; /* GRAFT_ARRAY_* */
    void *data;
    int32_t dtype;            /* GRAFT_F32 ... */
    int32_t memory;           /* GRAFT_MEMORY_* */
    int32_t device;           /* ordinal of the GPU for device memory, else 0 */
    int32_t components;       /* per item, 1 or more */
    int64_t n;                /* items */
    int64_t item_stride;      /* bytes from item i to i + 1; 0 = packed */
    int64_t component_stride; /* bytes from component c to c + 1; 0 = one element */
    int64_t bytes;            /* bytes from data that belong to this array */
    uint64_t reserved[4];
} graft_array;

#define GRAFT_ARRAY_INDEX_FROM_1 1u /* an index array counts from 1, as Fortran does */
#define GRAFT_ARRAY_READ_ONLY 2u    /* made of a pointer to const: refused as a result (ARRAY) */
#define GRAFT_ARRAY_ADD 4u          /* a result: add to what stands there; without it, overwrite. Ignored on inputs */

/* The sources, and the targets where no points are given. Pointers that are NULL are absent. */
typedef struct graft_particles {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    int64_t n;
    /* Either position[0] has `dimension` components and the others are NULL, or each axis is an array of its own
     * (position[2] NULL in two dimensions). F32 or F64. */
    const graft_array *position[3];
    const graft_array *charge;    /* mass, or charge of either sign; F32/F64; NULL: charge_all for everyone, then not 0 */
    const graft_array *softening; /* length per particle, >= 0; F32/F64; NULL: the options' length for everyone */
    const graft_array *active;    /* I32 or I64, n values: compute only where non-zero; NULL: everywhere */
    const graft_array *target_index; /* I32 or I64: particles to compute at, in any order, each at most once; not with active */
    double charge_all;
    const graft_array *id;   /* I32, I64 or U64 (below 2^63), n values, unique over all ranks; NULL: none. decompose and
                                balance split coincident particles by it */
    const graft_array *cost; /* F32 or F64, n values >= 0: work of each particle, for decompose and balance; NULL: none */
    uint64_t reserved[4];
} graft_particles;

/* What to compute and where to put it: an array that is NULL is not computed. Arrays have one item per particle in the
 * host's order (compute) or per point (field_at); only active items are written. Each array is overwritten, or added to
 * (GRAFT_ARRAY_ADD). They may be the particles' own arrays,
 * but must not overlap each other (ARRAY). Nothing is written on failure. */
typedef struct graft_results {
    uint32_t struct_size;
    uint32_t flags;                     /* GRAFT_RESULTS_* */
    const graft_array *acceleration[3]; /* laid out as position: field -grad(phi), or force with GRAFT_RESULTS_FORCE */
    const graft_array *potential;       /* phi at the target, not halved, without the particle's own contribution */
    const graft_array *virial; /* one item, 6 components xx yy zz xy xz yz: sum over active of charge * a (x) (x - x_0),
                                  symmetrised, x_0 the first particle; trace = potential energy for an unsoftened
                                  isolated system; F64. In a periodic box: minus the derivative of the energy by the
                                  strain of box and particles together, which takes all particles as targets */
    const graft_array *energy; /* one item: one half of sum of charge * phi over active particles; F64 */
    uint64_t reserved[4];
} graft_results;

#define GRAFT_RESULTS_FORCE 1u     /* acceleration receives charge * field */
#define GRAFT_RESULTS_NO_REPAIR 2u /* compute_begin on a GPU: results are final in stream order, or compute_end returns AGAIN
                                      and nothing was written. Without it compute_end itself does again what a buffer was
                                      too small for. Has no effect on a CPU and in compute */

/* The box. An open one (periodic 0 0 0) fixes the root cube of the octree; without a box it is made from the particles.
 * A periodic box (1 1 1) makes all images act: the field is that of the infinite lattice with a
 * conducting boundary ("tin foil"), a net charge or mass being made up for by a uniform background (the log says so), as
 * for gravity in an expanding universe. Its edges are a = (upper-lower)_x e_x, b = (tilt[0], (upper-lower)_y, 0) and
 * c = (tilt[1], tilt[2], (upper-lower)_z) from `lower` (LAMMPS's xy, xz, yz). Positions may lie anywhere: they are taken
 * modulo the lattice. Two ones (1 1 0 ...) make a slab: no images along the third axis, no background, no tilt to it. */
typedef struct graft_box {
    uint32_t struct_size;
    uint32_t flags;
    double lower[3];
    double upper[3];
    int32_t periodic[3]; /* zeros and ones, in any mix; else ARGUMENT. In two dimensions 0 0 0, else UNSUPPORTED */
    int32_t pad; /* 0 */
    double tilt[3]; /* xy, xz, yz; 0 0 0: orthogonal. Periodic boxes only, each at most half the edge it shifts along */
    uint64_t reserved[4];
} graft_box;

/* What decompose answers; arrays that are NULL are not wanted. Parts count from 0, as ranks do, also where the indices
 * count from 1. Which arrays are given may differ from rank to rank. Nothing is written on failure. */
typedef struct graft_decomposition {
    uint32_t struct_size;
    uint32_t flags;                 /* 0 */
    const graft_array *owner;       /* I32 or I64, n items: the part of each of this rank's particles */
    const graft_array *permutation; /* I32 or I64, n items: this rank's particles sorted by part (position -> index);
                                       GRAFT_ARRAY_INDEX_FROM_1 counts as Fortran does */
    const graft_array *part_offset; /* I32 or I64, parts + 1 items: part p is items part_offset[p] ... part_offset[p + 1]
                                       - 1 of permutation (counted as permutation is); its own flag says how it counts */
    const graft_array *boxes;       /* F32 or F64, parts items, 6 components: lower x y z, upper x y z of each part. orb:
                                       the boxes tile the smallest box around all particles; prefix: the tight box of the
                                       part's particles, lower > upper for an empty part. z is 0 in two dimensions */
    uint64_t reserved[4];
} graft_decomposition;

/* What balance needs beside the particles, and where it puts the new owners. */
typedef struct graft_balancing {
    uint32_t struct_size;
    uint32_t flags;           /* 0 */
    const graft_array *owner; /* I32 or I64, n items: the rank each particle should go to; this rank's own number where
                                 the old owners stay */
    double step_s;            /* seconds one force evaluation takes on this rank; 0: what the last compute of this context
                                 took (unknown before any: then only balance.tolerance decides) */
    double bytes_per_item;    /* what the host will move per particle; 0: unknown, taken as 64 */
    uint64_t reserved[4];
} graft_balancing;

/* Called on the rank that has the object, for one heavier than the mean load of a rank: returns how many pieces the host
 * has made of it (1: it cannot be split). The host gives the pieces as objects in its next call. */
typedef int32_t (*graft_split_function)(void *user, int64_t object, double load, double mean);

/* The objects of a host that balances patches, blocks or tasks instead of particles. */
typedef struct graft_objects {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    int64_t n;
    const graft_array *position[3]; /* centres, laid out as a graft_particles' positions */
    const graft_array *load;        /* F32 or F64, n values >= 0; NULL: 1 each */
    const graft_array *bytes;       /* F32 or F64, n values >= 0: what moving an object costs; NULL: unknown */
    const graft_array *id;          /* I32, I64 or U64 (below 2^63), unique over all ranks; NULL: none */
    const graft_array *owner;       /* written: I32 or I64, n items, the rank each object should go to */
    double step_s;                  /* seconds that the load of this rank took; 0: unknown */
    graft_split_function split;     /* NULL: objects cannot be split */
    void *split_user;
    uint64_t reserved[4];
} graft_objects;

/* What a near-field plan sums: out_c(i) = factor * sum over the sources j of the neighbour boxes of i's box of q_c(j)
 * K(x_i - y_j), for each charge component c, and its gradient with respect to x_i. A source at distance zero adds nothing
 * to a kernel that is singular there; with softening it adds K(0), except a point to itself (targets and sources the
 * same: equal index). Numbers that are 0 have the meaning given; pointers that are NULL are absent.
 *
 * Boxes of the caller (GRAFT_NEAR_BOXES_LISTS): the points of target box b are the slots target_offset[b] ...
 * target_offset[b + 1]
 * - 1; slot s is point target_index[s], or point s without an index array. Its source boxes are neighbour[k], k =
 * neighbour_offset[b] ... neighbour_offset[b + 1] - 1, ascending, each once. Points that are in no box are not summed,
 * and their outputs not written; none may be in two. All six arrays are host arrays of I32 or I64;
 * GRAFT_ARRAY_INDEX_FROM_1: an array counts from 1, as Fortran does (offsets then begin at 1, too).
 * Boxes made here: cells of a grid, of a tree's level or of an adaptive tree; same and adjacent (touching) boxes interact.
 * They are made on the host of the coordinates given to near_field_create (arrays in device memory are copied there once),
 * and stay. */
typedef struct graft_near_field {
    uint32_t struct_size;
    uint32_t flags;              /* 0 */
    int32_t dimension;           /* 2 or 3; in 2, z is not read */
    int32_t kernel;              /* GRAFT_NEAR_LAPLACE ...; 0: laplace */
    int32_t components;          /* charges a source, 1 to 16; 0: one (helmholtz: two) */
    int32_t outputs;             /* GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT; 0: the potential */
    int32_t precision;           /* GRAFT_PRECISION_*; 0: deck key near_field.precision */
    int32_t layout;              /* GRAFT_NEAR_LAYOUT_*; 0: deck key near_field.layout */
    double factor;               /* 0: 1 */
    double softening;            /* laplace: Plummer length, >= 0 */
    double wave_number;          /* yukawa, helmholtz: 1/length, >= 0 */
    double table_begin;          /* table: radius of the first knot, and */
    double table_step;           /* from knot to knot */
    const graft_array *table;    /* table: a knot an item, 2 components f(r) and f'(r); F32 or F64, on the host; cubic
                                    between knots and before the first, 0 beyond the last; f(0) at distance 0, but not to
                                    itself */
    int32_t boxes;               /* GRAFT_NEAR_BOXES_*; 0: lists, which must be given then */
    int32_t most;                /* level, leaves: most points in a box; 0: deck key near_field.most */
    int32_t height;              /* level: height of the tree (its leaf boxes are 2^(height - 1) along an edge); 0: from 3
                                    on, raised until no box holds more than `most` */
    int32_t cells[3];            /* grid: along each axis */
    double lower[3];             /* grid: its box; level and leaves: the root cube is at lower, its edge the longest one of */
    double upper[3];             /* the box; all 0: the smallest cube around all points */
    int64_t target_count;        /* points */
    int64_t source_count;        /* points; 0 where source_position is absent */
    const graft_array *target_position[3]; /* laid out as a graft_particles' positions; F32 or F64 */
    const graft_array *source_position[3]; /* NULL: the targets are the sources */
    const graft_array *target_offset;    /* target boxes + 1 */
    const graft_array *source_offset;    /* source boxes + 1; NULL where the targets are the sources */
    const graft_array *neighbour_offset; /* target boxes + 1 */
    const graft_array *neighbour;        /* source boxes */
    const graft_array *target_index;     /* points of the slots; NULL: slot s is point s */
    const graft_array *source_index;
    double memory_bytes;         /* most bytes of the layout's own arrays; 0: deck key near_field.memory */
    double expected_executes;    /* for one set of coordinates; 0: deck key near_field.expected_executes */
    uint64_t reserved[4];
} graft_near_field;

#define GRAFT_NEAR_LAPLACE 1   /* 1/r, softened 1/sqrt(r^2 + softening^2): gravity and Coulomb */
#define GRAFT_NEAR_LOGARITHM 2 /* -ln r: the potential of two dimensions */
#define GRAFT_NEAR_YUKAWA 3    /* exp(-wave_number r) / r */
#define GRAFT_NEAR_HELMHOLTZ 4 /* exp(i wave_number r) / r; charges and sums are complex: two components each */
#define GRAFT_NEAR_TABLE 5     /* f(r) by its values and derivatives */
#define GRAFT_NEAR_POTENTIAL 1 /* bits of outputs */
#define GRAFT_NEAR_GRADIENT 2
#define GRAFT_NEAR_BOXES_LISTS 1  /* boxes and lists of the caller */
#define GRAFT_NEAR_BOXES_GRID 2   /* cells of a grid */
#define GRAFT_NEAR_BOXES_LEVEL 3  /* boxes of one level of a quadtree (octree), in Morton order */
#define GRAFT_NEAR_BOXES_LEAVES 4 /* leaves of an adaptive quadtree (octree), in Morton order */
/* Layouts that have won somewhere; 0 chooses among them. More, of a study: deck key study.near_layout. */
#define GRAFT_NEAR_LAYOUT_RANGES 2
#define GRAFT_NEAR_LAYOUT_REPLICATED_GROUP 5
#define GRAFT_NEAR_LAYOUT_TILED 6
#define GRAFT_NEAR_LAYOUT_TILED_SPLIT 7
#define GRAFT_NEAR_LAYOUT_REPLICATED_GROUP_PADDED 9

/* What one execution of a plan reads and writes; F32 or F64. The arrays of a list, in order and up to the first NULL, give
 * their components one after the other: a std::complex<double> z(n) is one array of 2 components, as good as two arrays of
 * one. Outputs have one item per target in the caller's order and must not overlap charges or each other; a list that is
 * NULL from the start is not wanted. Each output is overwritten, or added to (GRAFT_ARRAY_ADD). */
typedef struct graft_near_sums {
    uint32_t struct_size;
    uint32_t flags;                   /* 0 */
    const graft_array *charge[16];    /* `components` in all, one item per source */
    const graft_array *potential[16]; /* `components` in all */
    const graft_array *gradient[48];  /* dimension x components in all: d/dx of each component, then d/dy, then d/dz */
    uint64_t reserved[4];
} graft_near_sums;

/* The constant in front of the force law: either given (constant > 0), or made from the sizes of the host's units in SI
 * (constant = 0): G = 6.67430e-11 mass time^2 / length^3; Coulomb: 8.9875517923e9 charge^2 time^2 / (mass length^3). */
typedef struct graft_units {
    uint32_t struct_size;
    uint32_t flags;
    double constant;
    double length_m;
    double mass_kg;
    double time_s;
    double charge_c;
    uint64_t reserved[4];
} graft_units;

/* The host's allocator for everything the context holds. Both functions are called from any thread. The address must be
 * a multiple of `alignment` (a power of two; 64 today: a cache line, an AVX-512 vector), which malloc does not promise:
 * aligned_alloc and posix_memalign do. ARGUMENT, with the address, where it is not. */
typedef struct graft_allocator {
    uint32_t struct_size;
    uint32_t flags;
    void *user;
    void *(*allocate)(void *user, int64_t bytes, int64_t alignment); /* NULL = refused */
    void (*release)(void *user, void *pointer, int64_t bytes);
    uint64_t reserved[4];
} graft_allocator;

/* The host's allocator for memory on a GPU, such as its own pool: for everything that the context holds there. Both are called
 * with the device current. What is allocated is used on `stream` only, from then on; what is released may be used again
 * in the order of `stream`. NULL = refused (the call ends with MEMORY). Addresses are multiples of 256. */
typedef struct graft_device_allocator {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    void *user;
    void *(*allocate)(void *user, int64_t bytes, int32_t device, void *stream);
    void (*release)(void *user, void *pointer, int64_t bytes, int32_t device, void *stream);
    uint64_t reserved[4];
} graft_device_allocator;

/* How pairs are computed; decks say fp32, mixed, fp64. 0, where a struct has one: the default that it names. */
#define GRAFT_PRECISION_FP32 1
#define GRAFT_PRECISION_MIXED 2 /* pairs in fp32, sums in fp64 */
#define GRAFT_PRECISION_FP64 3

/* What options_explain writes; GRAFT_EXPLAIN_STUDY is added to one of the two. */
#define GRAFT_EXPLAIN_TEXT 1
#define GRAFT_EXPLAIN_JSON 2
#define GRAFT_EXPLAIN_SCHEMA 3 /* a JSON schema of decks, for editors */
#define GRAFT_EXPLAIN_STUDY 16 /* with the keys study.*: parameters of papers, outside the promise that keys stay */

/* Levels of the log; 0, where a call takes one: deck key log.level. */
#define GRAFT_LOG_ERROR 1
#define GRAFT_LOG_WARNING 2
#define GRAFT_LOG_INFO 3
#define GRAFT_LOG_DEBUG 4

typedef struct graft_options graft_options; /* opaque */
typedef struct graft_context graft_context; /* opaque */
typedef struct graft_near_plan graft_near_plan; /* opaque; belongs to a context */

/* Receives text; called any number of times before the call that takes it returns. `text` is not kept. */
typedef void (*graft_sink)(void *user, const char *text, int64_t bytes);
typedef void (*graft_log_function)(void *user, int32_t level, const char *message);

#endif
