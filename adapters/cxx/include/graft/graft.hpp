// SPDX-License-Identifier: BSD-3-Clause
// Graft for C++17 hosts: header only, over the C table. Library, Options and Context own what they name (move
// only); failures throw graft::Error, made here in the host's own run time: no std type crosses into the
// library. Link the loader (graft_loader.c, or libgraft_api.a which contains it).
//
//     graft::Context gravity(graft::Options(graft::Library::load()).read_file("deck.yaml"));
//     gravity.compute(graft::Particles().positions(x, y, z).charges(m),
//                     graft::Results().accelerations(ax, ay, az));
//
// Arrays are views (graft_views.hpp): anything with data() and size(), or members of structs; nothing is
// copied. A context is used by one thread at a time (Error with GRAFT_ERROR_BUSY otherwise). Over many ranks:
// give the context a Communicator; all its calls that take particles or fields are then collective. Arrays on
// a GPU are DeviceSpans.
#ifndef GRAFT_HPP
#define GRAFT_HPP

#include <graft/graft.h>
#include <graft/graft_loader.h>

#include <graft/graft_views.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace graft {

/// A failed call: what() is the library's message, status() the GRAFT_ERROR_ number.
class Error : public std::runtime_error {
  public:
    Error(int32_t status, const std::string& message) : std::runtime_error(message), status_(status) {}
    int32_t status() const noexcept { return status_; }

  private:
    int32_t status_;
};

/// The loaded library. Copies are cheap; the library stays in the process.
class Library {
  public:
    /// Loads from path, or where GRAFT_LIBRARY and the usual places say. Throws LOAD_*.
    static Library load(const std::string& path = "") {
        std::array<char, 4096> why{};
        const graft_api_v1* api = nullptr;
        const int32_t status =
            graft_load(path.empty() ? nullptr : path.c_str(), &api, why.data(), why.size());
        if (status != GRAFT_OK)
            throw Error(status, why.data());
        return Library(api);
    }
    explicit Library(const graft_api_v1* api) noexcept : api_(api) {}
    const graft_api_v1& api() const noexcept { return *api_; }
    std::string version() const { return api_->version(); }
    /// The name of a status.
    std::string status_text(int32_t status) const { return api_->status_text(status); }
    /// Throws what the last call on this thread had to say when status is a failure.
    void check(int32_t status) const {
        if (status != GRAFT_OK)
            throw Error(status, api_->last_error());
    }
    /// Runs a tool ("info", "deck") with YAML arguments; the answer is JSON.
    std::string run_tool(const std::string& name, const std::string& yaml = "") const {
        std::string text;
        check(api_->run_tool(name.c_str(), yaml.c_str(), &append, &text));
        return text;
    }
    /// Every deck key with type, default, range, unit and meaning; GRAFT_EXPLAIN_...
    std::string explain(int32_t format = GRAFT_EXPLAIN_TEXT) const {
        std::string text;
        check(api_->options_explain(format, &append, &text));
        return text;
    }
    /// A graft_sink that appends to a std::string of the host. An exception must not cross C: lost memory
    /// ends the text.
    static void append(void* user, const char* text, int64_t bytes) noexcept {
        try {
            static_cast<std::string*>(user)->append(text, static_cast<std::size_t>(bytes));
        } catch (...) {
        }
    }

  private:
    const graft_api_v1* api_;
};

namespace detail {
/// A text that read(buffer, capacity, &needed) gives: twice where it is longer than expected.
template <class Read>
std::string text_of(const Library& library, Read read) {
    std::string text(256, '\0');
    int64_t needed = 0;
    int32_t status = read(text.data(), static_cast<int64_t>(text.size()), &needed);
    if (status == GRAFT_ERROR_ARGUMENT && needed > static_cast<int64_t>(text.size())) {
        text.resize(static_cast<std::size_t>(needed));
        status = read(text.data(), static_cast<int64_t>(text.size()), &needed);
    }
    library.check(status);
    text.resize(static_cast<std::size_t>(needed - 1));
    return text;
}
/// A number in deck spelling: as many digits as bring it back.
template <class Number>
std::string spelled(Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%.17g", static_cast<double>(value));
        return text.data();
    } else {
        return std::to_string(value);
    }
}
} // namespace detail

/// Options of a context, set by deck keys or decks.
class Options {
  public:
    explicit Options(Library library) : library_(library) {
        library_.check(library_.api().options_create(&options_));
    }
    Options(Options&& other) noexcept
        : library_(other.library_), options_(std::exchange(other.options_, nullptr)) {}
    Options& operator=(Options&& other) noexcept {
        std::swap(library_, other.library_);
        std::swap(options_, other.options_);
        return *this;
    }
    ~Options() { library_.api().options_destroy(&options_); }

    Options& set(const std::string& key, const std::string& value) {
        library_.check(library_.api().options_set(options_, key.c_str(), value.c_str()));
        return *this;
    }
    Options& set(const std::string& key, const char* value) { return set(key, std::string(value)); }
    /// Whole and real numbers, true and false.
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
    Options& set(const std::string& key, Number value) {
        if constexpr (std::is_floating_point_v<Number>)
            library_.check(
                library_.api().options_set_double(options_, key.c_str(), static_cast<double>(value)));
        else
            library_.check(
                library_.api().options_set_int64(options_, key.c_str(), static_cast<int64_t>(value)));
        return *this;
    }
    /// In deck spelling; get<int64_t>("order") and get<double>("mac.theta") give numbers.
    template <class Value = std::string>
    Value get(const std::string& key) const {
        if constexpr (std::is_same_v<Value, std::string>) {
            return detail::text_of(library_, [&](char* buffer, int64_t capacity, int64_t* needed) {
                return library_.api().options_get(options_, key.c_str(), buffer, capacity, needed);
            });
        } else if constexpr (std::is_floating_point_v<Value>) {
            double value = 0;
            library_.check(library_.api().options_get_double(options_, key.c_str(), &value));
            return static_cast<Value>(value);
        } else {
            int64_t value = 0;
            library_.check(library_.api().options_get_int64(options_, key.c_str(), &value));
            return static_cast<Value>(value);
        }
    }
    Options& read_file(const std::string& path) {
        library_.check(library_.api().options_read_file(options_, path.c_str()));
        return *this;
    }
    Options& read_text(const std::string& yaml, const std::string& name = "deck") {
        library_.check(library_.api().options_read_text(options_, yaml.data(),
                                                        static_cast<int64_t>(yaml.size()), name.c_str()));
        return *this;
    }
    const Library& library() const noexcept { return library_; }
    const graft_options* handle() const noexcept { return options_; }

  private:
    Library library_;
    graft_options* options_ = nullptr;
};

/// One rank's end of a communicator table; frees it. Contexts that use it must be gone, or set to another
/// one.
class Communicator {
  public:
    /// Takes over a table (from graft_load_mpi_comm, for instance); NULL is an empty one.
    explicit Communicator(graft_comm_v1* table = nullptr) noexcept : table_(table) {}
    Communicator(Communicator&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {}
    Communicator& operator=(Communicator&& other) noexcept {
        std::swap(table_, other.table_);
        return *this;
    }
    ~Communicator() {
        if (table_ != nullptr)
            table_->comm_free(table_);
    }
    /// `size` ranks inside this process, each to be used by a thread of its own.
    static std::vector<Communicator> threads(const Library& library, int32_t size) {
        std::vector<graft_comm_v1*> tables(static_cast<std::size_t>(size > 0 ? size : 0));
        std::vector<Communicator> comms;
        comms.reserve(tables.size());
        library.check(library.api().comm_create_threads(size, tables.data()));
        for (graft_comm_v1* table : tables)
            comms.emplace_back(table);
        return comms;
    }
    int32_t rank() const noexcept { return table_ != nullptr ? table_->rank : 0; }
    int32_t size() const noexcept { return table_ != nullptr ? table_->size : 1; }
    const graft_comm_v1* handle() const noexcept { return table_; }

  private:
    graft_comm_v1* table_;
};

/// Computes. Moved-from contexts may only be assigned to or destroyed.
class Context {
  public:
    explicit Context(const Options& options, const graft_allocator* allocator = nullptr)
        : library_(options.library()) {
        library_.check(library_.api().context_create(options.handle(), allocator, &context_));
    }
    Context(Context&& other) noexcept
        : library_(other.library_), context_(std::exchange(other.context_, nullptr)) {}
    Context& operator=(Context&& other) noexcept {
        std::swap(library_, other.library_);
        std::swap(context_, other.context_);
        return *this;
    }
    ~Context() { library_.api().context_destroy(&context_); }

    void compute(const Particles& particles, const Results& results) {
        const graft_particles p = particles.c();
        const graft_results r = results.c();
        library_.check(library_.api().compute(context_, &p, &r));
    }
    /// Points need only positions.
    void field_at(const Particles& sources, const Particles& points, const Results& results) {
        const graft_particles s = sources.c(), p = points.c();
        const graft_results r = results.c();
        library_.check(library_.api().field_at(context_, &s, &p, &r));
    }
    /// compute in two halves: returns when everything is enqueued on the stream. The arrays must stay until
    /// compute_end, which may throw what compute throws; the Particles and Results need not.
    void compute_begin(const Particles& particles, const Results& results) {
        const graft_particles p = particles.c();
        const graft_results r = results.c();
        library_.check(library_.api().compute_begin(context_, &p, &r));
    }
    void compute_end() { library_.check(library_.api().compute_end(context_)); }
    /// Whether what compute_begin enqueued has ended; never waits.
    bool compute_poll() const {
        int32_t done = 0;
        library_.check(library_.api().compute_poll(context_, &done));
        return done != 0;
    }
    /// The cudaEvent_t behind all that compute_begin enqueued, valid until compute_end; NULL on a CPU.
    void* compute_event() const {
        void* event = nullptr;
        library_.check(library_.api().compute_event(context_, &event));
        return event;
    }
    /// The cudaStream_t that this context's work goes to; nullptr: one of its own. It must outlive the
    /// context.
    void set_stream(void* stream) { library_.check(library_.api().context_set_stream(context_, stream)); }
    /// The communicator must outlive this context, or the next set_communicator.
    void set_communicator(const Communicator& ranks) {
        library_.check(library_.api().context_set_communicator(context_, ranks.handle()));
    }
    /// Divides the particles of all ranks; see graft_decomposition.
    void decompose(const Particles& particles, const Decomposition& results) {
        const graft_particles p = particles.c();
        const graft_decomposition d = results.c();
        library_.check(library_.api().decompose(context_, &p, &d));
    }
    /// The part in which each point lies, by the last domains.
    template <class I>
    void owner_of(const Particles& points, I& owners) {
        const graft_particles p = points.c();
        const graft_array array = view(owners);
        library_.check(library_.api().owner_of(context_, &p, &array));
    }
    /// New owners where that is worth it, else this rank's own number; returns the decision: "taken",
    /// "balanced", "not-worth-it" or "kept-old". step_s: seconds of a force evaluation here (0: of the last
    /// compute); bytes_per_item: what migrate will move of each particle (0: unknown).
    template <class I>
    std::string balance(const Particles& particles, I& owners, double step_s = 0, double bytes_per_item = 0) {
        const graft_particles p = particles.c();
        const graft_array array = view(owners);
        graft_balancing b{};
        b.struct_size = sizeof b;
        b.owner = &array;
        b.step_s = step_s;
        b.bytes_per_item = bytes_per_item;
        library_.check(library_.api().balance(context_, &p, &b));
        return query_text("balance.decision");
    }
    /// The same for a host's objects.
    std::string balance_objects(Objects& objects) {
        const graft_objects o = objects.c();
        const int32_t status = library_.api().balance_objects(context_, &o);
        objects.rethrow();
        library_.check(status);
        return query_text("balance.decision");
    }
    /// The number of items this rank will have when item i goes to rank owners[i].
    template <class I>
    int64_t migrate_plan(const I& owners) {
        const graft_array array = view(owners);
        int64_t n_after = 0;
        library_.check(library_.api().migrate_plan(context_, &array, &n_after));
        return n_after;
    }
    /// Moves fields by the plan: migrate({view(id), view(xyz.data(), n, 3)}, {view(new_id), ...}).
    void migrate(const std::vector<graft_array>& from, const std::vector<graft_array>& to) {
        move(library_.api().migrate, from, to);
    }
    /// The way back of the same plan.
    void migrate_back(const std::vector<graft_array>& from, const std::vector<graft_array>& to) {
        move(library_.api().migrate_back, from, to);
    }
    void set_units(const graft_units& units) {
        library_.check(library_.api().context_set_units(context_, &units));
    }
    void set_box(const graft_box& box) { library_.check(library_.api().context_set_box(context_, &box)); }
    void remove_box() { library_.check(library_.api().context_set_box(context_, nullptr)); }
    /// A new value of a deck key for this context, where explain() says that the key is live.
    void set(const std::string& key, const std::string& value) {
        library_.check(library_.api().context_set(context_, key.c_str(), value.c_str()));
    }
    void set(const std::string& key, const char* value) { set(key, std::string(value)); }
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
    void set(const std::string& key, Number value) {
        set(key, detail::spelled(value));
    }
    /// The value that this context computes with, in deck spelling.
    std::string get(const std::string& key) const {
        return detail::text_of(library_, [&](char* buffer, int64_t capacity, int64_t* needed) {
            return library_.api().context_get(context_, key.c_str(), buffer, capacity, needed);
        });
    }
    /// What the last failing call on this context, by whichever thread, had to say; "" before any failure.
    std::string error() const {
        return detail::text_of(library_, [&](char* buffer, int64_t capacity, int64_t* needed) {
            return library_.api().context_error(context_, buffer, capacity, needed);
        });
    }
    /// The host's allocator for memory on a GPU; nullptr: the library's own. It must outlive the context.
    void set_device_allocator(const graft_device_allocator* allocator) {
        library_.check(library_.api().context_set_device_allocator(context_, allocator));
    }
    /// Gives back what is kept for the next call; that one takes it anew.
    void release_memory() { library_.check(library_.api().context_release_memory(context_)); }
    /// level 0: deck key log.level.
    void set_log(graft_log_function function, void* user, int32_t level = 0) {
        library_.check(library_.api().context_set_log(context_, function, user, level));
    }
    double query(const std::string& key) const {
        double value = 0;
        library_.check(library_.api().query(context_, key.c_str(), &value));
        return value;
    }
    /// Figures of the last computation as JSON; key "" lists all.
    std::string query_text(const std::string& key = "") const {
        std::string text;
        library_.check(library_.api().query_text(context_, key.c_str(), &Library::append, &text));
        return text;
    }
    graft_context* handle() noexcept { return context_; }
    const Library& library() const noexcept { return library_; }

  private:
    using Move = int32_t (*)(graft_context*, int32_t, const graft_array* const*, const graft_array* const*);
    void move(Move function, const std::vector<graft_array>& from, const std::vector<graft_array>& to) {
        if (from.size() != to.size()) // the C call has one count
            throw Error(GRAFT_ERROR_ARGUMENT, "migrate: " + std::to_string(from.size()) +
                                                  " fields from and " + std::to_string(to.size()) +
                                                  " to; expected as many");
        std::vector<const graft_array*> sources, targets;
        for (std::size_t f = 0; f < from.size(); ++f) {
            sources.push_back(&from[f]);
            targets.push_back(&to[f]);
        }
        library_.check(function(context_, static_cast<int32_t>(from.size()), sources.data(), targets.data()));
    }
    Library library_;
    graft_context* context_ = nullptr;
};

} // namespace graft

#include <graft/graft_near.hpp>
#endif
