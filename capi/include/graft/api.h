/* SPDX-License-Identifier: BSD-3-Clause */
/* The one entry of libgraft and the table it returns. This file is the table that the by-name functions
 * (graft_api.c, graft/functions.h) and the Fortran bindings are generated from: one member a line group,
 * `type (*name)(parameters);`. Append only; an entry is never moved, changed or removed within a major.
 *
 * Collective calls and ranks: see context_set_communicator. All entries may be called from any thread; one context or
 * options object by one thread at a time (a second thread gets GRAFT_ERROR_BUSY). Entries return a status unless said otherwise;
 * none of them exits, prints, or throws. */
#ifndef GRAFT_API_H
#define GRAFT_API_H

#include <graft/comm.h>
#include <graft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct graft_api_v1 {
    uint32_t struct_size; /* of the library's table: entries beyond it do not exist in this library */
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t pad;
    uint64_t capabilities; /* GRAFT_CAPABILITY_* */

    /* "1.0.0"; static. */
    const char *(*version)(void);
    /* The name of a status, "unknown status" for a number we do not use; static. */
    const char *(*status_text)(int32_t status);
    /* What the last failing call on this thread had to say; "" before any failure. Valid until the next failing call
     * on this thread. context_error has that of a context. */
    const char *(*last_error)(void);

    /* New options with every value at its default. Free with options_destroy. MEMORY. */
    int32_t (*options_create)(graft_options **options);
    /* Frees and sets *options to NULL; NULL is fine. */
    int32_t (*options_destroy)(graft_options **options);
    /* One deck key ("mac.theta", "0.5") in deck spelling. DECK_KEY, DECK_TYPE, DECK_RANGE. */
    int32_t (*options_set)(graft_options *options, const char *key, const char *value);
    /* The value of a key as text into buffer (always terminated when capacity > 0); *needed, if not NULL, gets the
     * length with terminator. ARGUMENT when the buffer is too small, ABSENT for a key without a value. */
    int32_t (*options_get)(const graft_options *options, const char *key, char *buffer, int64_t capacity,
                           int64_t *needed);
    /* The same with a number, for keys that take one ("order", 4; "mac.theta", 0.5); a whole number is a real one, too, and 0
     * and 1 are false and true. DECK_KEY, DECK_TYPE (a key of words), DECK_RANGE. */
    int32_t (*options_set_int64)(graft_options *options, const char *key, int64_t value);
    int32_t (*options_set_double)(graft_options *options, const char *key, double value);
    /* The value of a key that is a number. DECK_KEY, DECK_TYPE (it is a word, or no whole number), ABSENT. */
    int32_t (*options_get_int64)(const graft_options *options, const char *key, int64_t *value);
    int32_t (*options_get_double)(const graft_options *options, const char *key, double *value);
    /* A YAML deck from a file; all keys or none. DECK_*: the message has file:line:column, key, allowed, nearest key. */
    int32_t (*options_read_file)(graft_options *options, const char *path);
    /* A YAML deck from memory; `name` stands for the file in messages. DECK_*. */
    int32_t (*options_read_text)(graft_options *options, const char *text, int64_t bytes, const char *name);
    /* Every deck key with type, default, range, unit, meaning and whether a living context takes a new value; format is
     * GRAFT_EXPLAIN_*. ARGUMENT.
     * mac.accuracy (criterion error): what each node may make a force wrong by, relative to the acceleration there. With
     * order and precision left to Graft, 99 of 100 forces are wrong by at most about twice this: down to 1e-10 on a
     * CPU, 3e-6 on a GPU. The same holds with an order of your own, down to 3e-6 at order 0, 1e-3 at order 1, 1e-4 at
     * order 2, 2e-5 at order 3. Order 4 reaches 3e-6, order 5 1e-7, orders 6 and 7 1e-8, orders 8 to 12 1e-10.
     * Precisions fp32 and mixed reach 2e-6. All this is for an open box, charges of one sign and no softening. In a
     * thin disc forces by an order of your own may be wrong by 6 times mac.accuracy, at order 1 by 20 times. Forces
     * that nearly cancel may be wrong by many times that. They do so with charges of both signs, in a periodic box
     * (whose lattice sum has ewald.accuracy besides), and where many particles lie within a softening length of each
     * other. The log (context_set_log) warns of a limit that is passed, of softening and of interaction coulomb. */
    int32_t (*options_explain)(int32_t format, graft_sink sink, void *user);

    /* A context that computes with these options (copied). allocator NULL: operator new. MEMORY, UNSUPPORTED, DEVICE
     * (backend gpu, and no GPU can be used; the message says what was tried). */
    int32_t (*context_create)(const graft_options *options, const graft_allocator *allocator, graft_context **context);
    /* Frees everything and sets *context to NULL; NULL is fine. BUSY while another thread is in a call on it. */
    int32_t (*context_destroy)(graft_context **context);
    /* A new value of a deck key for this living context, in deck spelling. Keys whose "live" is true in options_explain can be
     * changed so; for the others CALL_ORDER says that they need a new context, and nothing has changed. Not collective, but
     * values that ranks must share (see compute) have to be changed on all of them before the next collective call.
     * DECK_KEY, DECK_TYPE, DECK_RANGE, ARGUMENT, CALL_ORDER. */
    int32_t (*context_set)(graft_context *context, const char *key, const char *value);
    /* The value that the context computes with, as options_get. */
    int32_t (*context_get)(graft_context *context, const char *key, char *buffer, int64_t capacity, int64_t *needed);
    /* What the last failing call on this context, by whichever thread, had to say; "" before any failure. As options_get
     * otherwise. Neither this call nor its failure changes the text. */
    int32_t (*context_error)(graft_context *context, char *buffer, int64_t capacity, int64_t *needed);
    /* Messages up to `level` (GRAFT_LOG_*; 0: deck key log.level) go to `function` (NULL: nowhere, the default). */
    int32_t (*context_set_log)(graft_context *context, graft_log_function function, void *user, int32_t level);
    /* NULL returns to "no box". ARGUMENT: empty, not finite, tilted too far. UNSUPPORTED: periodic, but not in three
     * dimensions. */
    int32_t (*context_set_box)(graft_context *context, const graft_box *box);
    int32_t (*context_set_units)(graft_context *context, const graft_units *units);
    /* The host's allocator for device memory; NULL: the library's own. CALL_ORDER: the context has already taken memory there
     * (see context_release_memory). ARGUMENT, ABI. */
    int32_t (*context_set_device_allocator)(graft_context *context, const graft_device_allocator *allocator);
    /* Gives back memory that is kept for the next call, of host and device; the next call takes it anew. Plans of near
     * fields keep theirs. CALL_ORDER: a computation is in flight. */
    int32_t (*context_release_memory)(graft_context *context);
    /* Field and potential of all particles at the active ones. Cost O(n log n) (tree) or O(n^2) (direct).
     * ARGUMENT, ARRAY, VALUE (first bad index named), MEMORY, UNSUPPORTED, DEVICE, BUSY; nothing is written on failure. */
    int32_t (*compute)(graft_context *context, const graft_particles *particles, const graft_results *results);
    /* The same field at any points (position layout as particles->position; points.n items); active, target,
     * virial and energy do not apply. A source at distance zero contributes no force and, unsoftened, no potential. */
    int32_t (*field_at)(graft_context *context, const graft_particles *sources, const graft_particles *points,
                        const graft_results *results);
    /* One number of the last computation: "time_s.total", "interactions.p2p", "bytes.total"...; query_text with key ""
     * lists all as JSON, "backend" tells cpu or gpu. ABSENT: no computation yet, or no such figure (a model's prediction without
     * a model). */
    int32_t (*query)(graft_context *context, const char *key, double *value);
    int32_t (*query_text)(graft_context *context, const char *key, graft_sink sink, void *user);
    /* Tools of the library by name: "info" (what this build and machine have) and "deck" (checks a deck: file or text).
     * Arguments as YAML text, answer as JSON. ARGUMENT for an unknown name (known ones are listed in the message). */
    int32_t (*run_tool)(const char *name, const char *yaml, graft_sink sink, void *user);

    /* ---- Many ranks. ----
     * The calls marked "collective" are made by all ranks of the context's communicator, in the same order, each with
     * its own particles (n may be 0). They return the same status on every rank, whichever rank failed and wherever,
     * and write nothing when it is not GRAFT_OK; last_error() then names the rank. Only what cannot be told to the
     * others is a rank's own: a NULL context and BUSY, after which the others wait for this rank until their deadline
     * (deck key comm.deadline_s) - or for ever. Options, box and units must be the same on all ranks (threads and log
     * may differ): ARGUMENT. A failure outside of what ranks agree on (the communicator's own, an exception between
     * two messages) poisons the context: this and every later collective call returns COMMUNICATION at once, until
     * another communicator is set. */

    /* The ranks that this context works with; NULL: this one alone, as after context_create. The table must outlive the
     * context or the next context_set_communicator. Not collective, but all ranks must do it before the next collective
     * call; compute and field_at are collective from then on. Domains and plans of the context are forgotten.
     * ARGUMENT: a missing function, an impossible rank or size; ABI: smaller than the first version, unknown flags. */
    int32_t (*context_set_communicator)(graft_context *context, const graft_comm_v1 *communicator);
    /* `size` ranks inside this process, for hosts with threads and for tests: comms gets size tables, rank r's at
     * comms[r], each to be used by one thread and freed with comms[r]->comm_free(comms[r]). Calls of different ranks wait for
     * each other, so each rank needs a thread, a context and options of its own. ARGUMENT (size < 1 or > 4096), MEMORY. */
    int32_t (*comm_create_threads)(int32_t size, graft_comm_v1 **comms);
    /* Collective. Plans the moves of items to the ranks owner[i] (I32 or I64, n items, 0 ... size - 1); *n_after gets
     * how many items this rank will have. The plan stays until the next one. Items arrive sorted by the rank they come
     * from, then by their index there. Cost O(n) and one small message to each rank that gets some.
     * ARGUMENT, ARRAY, VALUE (first bad owner named), MEMORY, COMMUNICATION. */
    int32_t (*migrate_plan)(graft_context *context, const graft_array *owner, int64_t *n_after);
    /* Collective. Moves `count` fields by the plan: from[f] has as many items as migrate_plan's owner, to[f] n_after
     * items; type and components of from[f] and to[f] are equal and the same on all ranks, strides are each array's own.
     * All fields travel in the same messages. to[f] may overlap from[f] (a move in place). Nothing is written unless
     * everything has arrived everywhere. query: "migrate.items_moved", "migrate.bytes_moved", "migrate.count_after".
     * CALL_ORDER (no plan), ARGUMENT, ARRAY, MEMORY, COMMUNICATION. */
    int32_t (*migrate)(graft_context *context, int32_t count, const graft_array *const *from,
                       const graft_array *const *to);
    /* Collective. The way back: from[f] has n_after items, to[f] as many as migrate_plan's owner, every item where it came
     * from. Undoes migrate, or brings results of the new owners home. As migrate. */
    int32_t (*migrate_back)(graft_context *context, int32_t count, const graft_array *const *from,
                            const graft_array *const *to);
    /* Collective. Divides the particles of all ranks into parts (deck keys decompose.*; as many as there are ranks, or
     * decompose.parts) of equal weight: 1 each, their cost, or a mix. Nothing is moved and no particle order changed:
     * owner, permutation, part_offset and boxes are written as graft_decomposition says, n items each. With
     * decompose.tolerance 0 the result depends on the set of particles only, neither on their order nor on their spread
     * over ranks (coincident particles without ids excepted). active and target of the particles do not matter. Cost
     * O(n (log parts + refinements)); strategy level holds O(parts), halving O(log parts), central O(all particles on
     * one rank). Boxes of strategy halving are gathered first: O(parts). query: "decompose.imbalance_count",
     * "decompose.imbalance_weight", "decompose.passes", "decompose.iterations_per_cut", "decompose.cuts",
     * "decompose.collectives", "decompose.bytes", "decompose.messages" (of this rank), "decompose.time_s.cuts",
     * "decompose.time_s.partition", "decompose.time_s.total", "decompose.parts"; "decompose.on_device" is 1 where this
     * rank's particles were cut on a GPU (backend auto or gpu, strategy level, 2^20 particles or more: the same result),
     * with "decompose.time_s.upload"; "decompose.time_s.wait" is spent in collectives.
     * ARGUMENT (halving with parts other than ranks, a cap that cannot hold all particles, ids or costs on some ranks
     * only), ARRAY, ABI, VALUE (first bad one named), MEMORY, COMMUNICATION. */
    int32_t (*decompose)(graft_context *context, const graft_particles *particles,
                         const graft_decomposition *decomposition);
    /* Collective. owner[i] (I32 or I64) = the part in which point i lies, by the domains of the last decompose, or of the
     * last balance that was taken; points outside of all domains belong to the nearest. Of `points` only n, position and
     * id are read; a point without id that coincides with a split particle counts as lower. After strategy halving the
     * first call gathers the domains: O(parts). Cost O(n log parts).
     * CALL_ORDER (no domains yet), ARGUMENT, ARRAY, VALUE, MEMORY, COMMUNICATION. */
    int32_t (*owner_of)(graft_context *context, const graft_particles *points, const graft_array *owner);
    /* Collective. New owners for the particles where that is worth it (deck keys balance.*): only when the busiest rank has
     * more than balance.tolerance times the mean work, when the new partition is better, and when what it saves until the
     * next balance (balance.steps force evaluations) exceeds what it and the migration cost. Otherwise owner is this rank's
     * own number throughout. What a particle costs (balance.cost): interactions or time of the last compute of this
     * context, which must have had the same particles in the same order; particles.cost; or 1. Nothing is moved: give
     * owner to migrate_plan. query_text: "balance.decision" (balanced, not-worth-it, kept-old, taken), "balance.reason";
     * query: "balance.before." and "balance.after." + imbalance_work, imbalance_count, work_max, work_mean, neighbours,
     * surface; "balance.items_moved", "balance.bytes_moved", "balance.gain_s", "balance.move_s", "balance.time_s.total".
     * Cost that of decompose, O(n) when nothing is done.
     * CALL_ORDER (interactions or time without such a compute), ARGUMENT (balance.cost given without costs), the
     * statuses of decompose. */
    int32_t (*balance)(graft_context *context, const graft_particles *particles, const graft_balancing *balancing);
    /* Collective. The same for a host's objects (patches, blocks, tasks): centre, load, bytes -> new owner. Object i is on
     * this rank now; balance.cost does not matter. `split` is offered each object heavier than the mean load of a rank.
     * query also: "balance.super_objects", "balance.pieces", "balance.heaviest", "balance.swapped",
     * "balance.locality_lost". As balance. */
    int32_t (*balance_objects)(graft_context *context, const graft_objects *objects);

    /* ---- GPUs. ----
     * Deck key backend: auto takes a GPU where there is one (the log says what was chosen and why), gpu fails
     * without one (DEVICE; the message says what was tried), cpu never looks. libgraft_cuda.so is opened then, and only
     * then. compute, compute_begin and field_at take arrays in host, device and managed memory in any mix
     * (GRAFT_MEMORY_*); nothing that lives on the device is copied through the host. A context works on one device, in the CUDA
     * context of it that is current (else the primary one), which must outlive it; the thread's current one stays as it was. */

    /* compute, in two halves: enqueues everything on the context's stream and returns, on the GPU without waiting for it
     * (over many ranks, and on the CPU, this call does all the work). Collective as compute is.
     * - The structs may go when this returns. Until compute_end has returned the arrays must stay; those in host memory
     *   may be neither read (results) nor written (particles) meanwhile. Those in device memory are in stream order: what
     *   the host enqueues on the same stream before this call is seen by it, and what it enqueues afterwards sees the
     *   results and may overwrite the particles - unless compute_end then fails, or has to repeat the computation: flag
     *   GRAFT_RESULTS_NO_REPAIR forbids that, compute_end tells what happened.
     * - One computation may be in flight in a context: a second compute_begin, compute, field_at and every call that
     *   changes the context or is collective returns CALL_ORDER until compute_end. query, query_text and context_set_log
     *   are fine; figures are those of a computation that has ended, ABSENT where there is none. Contexts are independent:
     *   several may be in flight.
     * - context_destroy waits for what is in flight, and forgets its status.
     * Errors as compute, and DEVICE. After a failure nothing is in flight. */
    int32_t (*compute_begin)(graft_context *context, const graft_particles *particles, const graft_results *results);
    /* Waits for compute_begin's work and returns its status. Bad values among the particles (VALUE) and lack of memory
     * (MEMORY: the message has the bytes wanted and free) are found out on the device, and told here; results are then
     * not written. Where a buffer of the library proved too small - in a first computation, or when the particles have
     * changed much - the computation is done again in here, from the same arrays (query "device.repeats" counts them), or,
     * with GRAFT_RESULTS_NO_REPAIR, AGAIN is returned, nothing has been written, and the same call will fit. A host that
     * lets later work on its stream use results or overwrite particles before compute_end sets that flag. Collective as
     * compute_begin. CALL_ORDER: nothing is in flight. */
    int32_t (*compute_end)(graft_context *context);
    /* The CUDA stream (cudaStream_t as a pointer) that this context's work goes to from now on; NULL: one of its own,
     * which does not wait for the default stream: the host then makes sure that its arrays are ready before a call, and
     * they are complete when compute or compute_end returns. The stream must belong to the context's device and outlive the
     * context or the next context_set_stream. Graft waits on it in compute, field_at and compute_end only, and never
     * destroys it. Without a GPU the stream is kept and not used. Not collective. CALL_ORDER: a computation is in flight.
     * Calls on a stream in capture return ARGUMENT, and the capture goes on: Graft's work cannot become part of a host's
     * graph. A thread that captures on another stream may compute, and make near-field plans. (Graft's own stream
     * does not wait for a cudaMemcpy from pageable memory either, which may return before the array is complete:
     * synchronise, or give a stream.) */
    int32_t (*context_set_stream)(graft_context *context, void *stream);
    /* Whether what compute_begin enqueued has ended: *done is 1 then, and compute_end will not wait long (it may still have to
     * repeat); else 0. Never waits. On a CPU always 1. CALL_ORDER: nothing is in flight. */
    int32_t (*compute_poll)(graft_context *context, int32_t *done);
    /* An event behind all that compute_begin enqueued (today a cudaEvent_t), for streams or programs that are to wait; the
     * context's own, valid until compute_end; NULL where a CPU computes. CALL_ORDER: nothing is in flight. */
    int32_t (*compute_event)(graft_context *context, void **event);

    /* ---- The near field alone (P2P), for codes with boxes of their own. ----
     * A plan is made once, executed many times with new charges, given new coordinates, and destroyed. It belongs to its
     * context, whose options (deck keys near_field.*, backend, threads), allocator, log and stream it uses; context_destroy
     * frees its plans. Calls take context and plan; a plan that is not (or no longer) the context's is refused: ARGUMENT.
     * Not collective: each rank has its own. What the last plan used did is told by query, "near." + time_s.collection,
     * time_s.charges, time_s.transfer, time_s.kernel, time_s.scatter, time_s.total (of the last execution), predicted_s.
     * + the same (where a model can tell), time_s.create, time_s.update, pairs, targets, sources, boxes, neighbours,
     * largest (t: points of the fullest box), density (D: targets a cell), height (L), chunks, executes, updates,
     * bytes.layout, bytes.expected, bytes.structure, bytes.copies, bytes.kept (of GPUs, for the next plan), allocations (of
     * the last execution: 0 from the second on); and query_text, "near." + backend, layout, kernel, precision, reason. */

    /* Copies the structure and the coordinates; the caller's arrays may go. Cost O(points + boxes + neighbours), and what
     * the layout's arrays cost. ARGUMENT (missing arrays, impossible numbers, options that the kernel would ignore), ARRAY
     * (sizes that do not fit each other), VALUE (offsets that fall, lists that are unsorted, repeated or out of range,
     * indices alike, coordinates that are not finite: array and first bad item are named), ABI, UNSUPPORTED (more than 2^31 - 1
     * points or boxes; boxes to be made in a periodic box), MEMORY
     * (also a layout that needs more than near_field.memory), DEVICE. */
    int32_t (*near_field_create)(graft_context *context, const graft_near_field *description, graft_near_plan **plan);
    /* New coordinates for the same points in the same boxes: of the description only target_count, source_count, target_position
     * and source_position are read. Coordinates that are refused change nothing. As near_field_create; CALL_ORDER: an execution
     * is in flight. */
    int32_t (*near_field_update)(graft_context *context, graft_near_plan *plan, const graft_near_field *description);
    /* The sums for new charges. The same bits for any number of threads (of one layout). Nothing is allocated from the second
     * execution on. ARGUMENT (components missing or too many, an output that the plan was not made for), ARRAY (sizes,
     * outputs that overlap), VALUE (a charge that is not finite, or a sum that would not be: first one named), ABI, MEMORY,
     * DEVICE, CALL_ORDER; nothing is written on failure, but for one: a GPU finds a bad charge or sum while it sums, and
     * outputs in device memory may hold sums with it then. */
    int32_t (*near_field_execute)(graft_context *context, graft_near_plan *plan, const graft_near_sums *sums);
    /* near_field_execute in two halves: begin enqueues on the context's stream and returns, on the GPU without waiting (on
     * the CPU it does all the work); end waits and returns the status. The struct may go when begin returns, the arrays only
     * after end. One execution of a plan may be in flight (else CALL_ORDER), those of several plans at a time. */
    int32_t (*near_field_begin)(graft_context *context, graft_near_plan *plan, const graft_near_sums *sums);
    int32_t (*near_field_end)(graft_context *context, graft_near_plan *plan);
    /* Frees the plan and sets *plan to NULL; NULL is fine. Waits for what is in flight. */
    int32_t (*near_field_destroy)(graft_context *context, graft_near_plan **plan);
} graft_api_v1;

#define GRAFT_CAPABILITY_OPENMP (1ull << 0)
#define GRAFT_CAPABILITY_GPU (1ull << 1) /* knows backend gpu; whether it can be used is what run_tool("info") says */

/* The only symbol libgraft exports. NULL for a major it does not speak, or a caller_table_size of 0. The table is
 * static and valid until the process ends. */
#if defined(GRAFT_BUILDING_LIBRARY)
__attribute__((visibility("default")))
#endif
const graft_api_v1 *graft_get_api(uint32_t abi_major, uint32_t caller_table_size);

typedef const graft_api_v1 *(*graft_get_api_function)(uint32_t abi_major, uint32_t caller_table_size);

#ifdef __cplusplus
}
#endif
#endif
