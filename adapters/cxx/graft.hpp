// Graft for C++17 hosts: header only, over the C table. Library, Options and Context own what they name (move
// only); failures throw graft::Error, made here in the host's own run time: no std type crosses into the
// library. Link the loader (graft_loader.c, or libgraft_api.a which contains it).
//
//     graft::Context gravity(graft::Options(graft::Library::load()).read_file("deck.yaml"));
//     gravity.compute(graft::Particles().positions(x, y, z).charges(m), graft::Results().accelerations(ax,
//     ay, az));
//
// Anything with data() and size() is an array: std::vector, std::array, std::span. Views do not own: the
// memory must live until compute returns. A context is used by one thread at a time (Error with
// GRAFT_ERROR_BUSY otherwise).
#ifndef GRAFT_HPP
#define GRAFT_HPP

#include <graft/graft.h>
#if __has_include(<graft/graft_loader.h>)
#include <graft/graft_loader.h> // where `cmake --install` puts it
#else
#include <graft_loader.h> // a vendored copy
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

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
    /// Throws what the last call on this thread had to say when status is a failure.
    void check(int32_t status) const {
        if (status != GRAFT_OK)
            throw Error(status, api_->last_error());
    }
    /// Runs a tool ("bench", "info") with YAML arguments; the answer is JSON.
    std::string run_tool(const std::string& name, const std::string& yaml = "") const {
        std::string text;
        check(api_->run_tool(name.c_str(), yaml.c_str(), &append, &text));
        return text;
    }
    /// Every deck key with type, default, unit and meaning.
    std::string explain(bool json = false) const {
        std::string text;
        check(api_->options_explain(json ? 1 : 0, &append, &text));
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
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
    Options& set(const std::string& key, Number value) {
        if constexpr (std::is_same_v<Number, bool>)
            return set(key, std::string(value ? "true" : "false"));
        else if constexpr (std::is_floating_point_v<Number>)
            return set(key, exact(static_cast<double>(value)));
        else
            return set(key, std::to_string(value));
    }
    std::string get(const std::string& key) const {
        std::string text(256, '\0');
        int64_t needed = 0;
        int32_t status = read(key, text, needed);
        if (status == GRAFT_ERROR_ARGUMENT && needed > static_cast<int64_t>(text.size())) {
            text.resize(static_cast<std::size_t>(needed));
            status = read(key, text, needed);
        }
        library_.check(status);
        text.resize(static_cast<std::size_t>(needed - 1));
        return text;
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
    int32_t read(const std::string& key, std::string& text, int64_t& needed) const {
        return library_.api().options_get(options_, key.c_str(), text.data(),
                                          static_cast<int64_t>(text.size()), &needed);
    }
    static std::string exact(double value) {
        std::array<char, 40> text{};
        std::snprintf(text.data(), text.size(), "%.17g", value);
        return text.data();
    }
    Library library_;
    graft_options* options_ = nullptr;
};

// ---- views
// ----------------------------------------------------------------------------------------------------------

template <class T>
constexpr int32_t dtype_of() {
    using U = std::remove_cv_t<T>;
    static_assert(std::is_same_v<U, float> || std::is_same_v<U, double> || std::is_same_v<U, int32_t> ||
                      std::is_same_v<U, int64_t> || std::is_same_v<U, uint64_t>,
                  "Graft knows float, double, int32_t, int64_t and uint64_t");
    return std::is_same_v<U, float>     ? GRAFT_F32
           : std::is_same_v<U, double>  ? GRAFT_F64
           : std::is_same_v<U, int32_t> ? GRAFT_I32
           : std::is_same_v<U, int64_t> ? GRAFT_I64
                                        : GRAFT_U64;
}

/// n items of `components` numbers, strides in bytes (0: packed).
template <class T>
graft_array view(T* data, int64_t n, int32_t components = 1, int64_t item_stride = 0,
                 int64_t component_stride = 0) {
    const int64_t element = sizeof(T);
    graft_array array{};
    array.struct_size = sizeof array;
    array.data = const_cast<void*>(static_cast<const void*>(data));
    array.dtype = dtype_of<T>();
    array.memory = GRAFT_MEMORY_HOST;
    array.components = components;
    array.n = n;
    array.component_stride = component_stride ? component_stride : element;
    array.item_stride = item_stride ? item_stride : components * element;
    array.bytes =
        n == 0 ? 0 : (n - 1) * array.item_stride + (components - 1) * array.component_stride + element;
    return array;
}

/// All of a vector, array or span of numbers: one component an item.
template <class Range>
auto view(Range& range) -> decltype(view(range.data(), static_cast<int64_t>(range.size()))) {
    return view(range.data(), static_cast<int64_t>(range.size()));
}
/// The same for a graft_array made by hand, so that the calls below take either.
inline graft_array view(const graft_array& array) {
    return array;
}

namespace detail {
template <class M>
struct Member {
    using Element = M;
    static constexpr int32_t components = 1;
};
template <class M, std::size_t N>
struct Member<M[N]> {
    using Element = M;
    static constexpr int32_t components = static_cast<int32_t>(N);
};
template <class M, std::size_t N>
struct Member<std::array<M, N>> {
    using Element = M;
    static constexpr int32_t components = static_cast<int32_t>(N);
};
} // namespace detail

/// One member of every struct in a range: view_of(stars, &Star::mass), view_of(stars, &Star::position) for a
/// member double[3] or std::array<double, 3>. Nothing is copied.
template <class Range, class Struct, class M>
graft_array view_of(Range& structs, M Struct::*member) {
    using Element = typename detail::Member<M>::Element;
    const int64_t n = static_cast<int64_t>(structs.size());
    Element* first = nullptr;
    if (n > 0)
        first = reinterpret_cast<Element*>(const_cast<std::remove_cv_t<M>*>(&(structs.data()[0].*member)));
    return view(first, n, detail::Member<M>::components, sizeof(Struct));
}

/// The sources. n is that of the positions.
class Particles {
  public:
    template <class X, class Y, class Z>
    Particles& positions(X&& x, Y&& y, Z&& z) {
        return keep(0, view(x)).keep(1, view(y)).keep(2, view(z));
    }
    /// One array of 3 components an item: view(xyz.data(), n, 3), view_of(stars, &Star::position).
    Particles& positions(const graft_array& packed) { return keep(0, packed); }
    template <class M>
    Particles& charges(M&& m) {
        return keep(3, view(m));
    }
    Particles& charge_all(double charge) {
        charge_all_ = charge;
        return *this;
    }
    template <class H>
    Particles& softenings(H&& h) {
        return keep(4, view(h));
    }
    /// int32_t or int64_t, n values: compute only where non-zero.
    template <class A>
    Particles& active(A&& flags) {
        return keep(5, view(flags));
    }
    /// Indices to compute, from 0.
    template <class A>
    Particles& targets(A&& indices) {
        return keep(6, view(indices));
    }
    /// The C struct; points into this object.
    graft_particles c() const noexcept {
        graft_particles p{};
        p.struct_size = sizeof p;
        p.n = arrays_[0].n;
        for (int axis = 0; axis < 3; ++axis)
            p.position[axis] = at(axis);
        p.charge = at(3);
        p.softening = at(4);
        p.active = at(5);
        p.target = at(6);
        p.charge_all = charge_all_;
        return p;
    }

  private:
    Particles& keep(std::size_t slot, const graft_array& array) {
        arrays_[slot] = array;
        return *this;
    }
    const graft_array* at(int slot) const noexcept {
        const graft_array& array = arrays_[static_cast<std::size_t>(slot)];
        return array.struct_size ? &array : nullptr;
    }
    std::array<graft_array, 7> arrays_{};
    double charge_all_ = 1;
};

/// Where results go. What is not named is not computed.
class Results {
  public:
    template <class X, class Y, class Z>
    Results& accelerations(X& x, Y& y, Z& z) {
        return keep(0, view(x)).keep(1, view(y)).keep(2, view(z));
    }
    Results& accelerations(const graft_array& packed) { return keep(0, packed); }
    template <class P>
    Results& potentials(P&& phi) {
        return keep(3, view(phi));
    }
    Results& virial(std::array<double, 6>& tensor) { return keep(4, view(tensor.data(), 1, 6)); }
    Results& energy(double& half_sum) { return keep(5, view(&half_sum, 1)); }
    Results& add(bool on = true) {
        mode_ = on ? GRAFT_MODE_ADD : GRAFT_MODE_OVERWRITE;
        return *this;
    }
    /// Charge times field instead of the field.
    Results& as_force(bool on = true) {
        flags_ = on ? GRAFT_RESULTS_FORCE : 0u;
        return *this;
    }
    /// The C struct; points into this object.
    graft_results c() const noexcept {
        graft_results r{};
        r.struct_size = sizeof r;
        r.flags = flags_;
        for (int axis = 0; axis < 3; ++axis)
            r.acceleration[axis] = at(axis);
        r.potential = at(3);
        r.virial = at(4);
        r.energy = at(5);
        r.mode = mode_;
        return r;
    }

  private:
    Results& keep(std::size_t slot, const graft_array& array) {
        arrays_[slot] = array;
        return *this;
    }
    const graft_array* at(int slot) const noexcept {
        const graft_array& array = arrays_[static_cast<std::size_t>(slot)];
        return array.struct_size ? &array : nullptr;
    }
    std::array<graft_array, 6> arrays_{};
    int32_t mode_ = GRAFT_MODE_OVERWRITE;
    uint32_t flags_ = 0;
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
    void set_units(const graft_units& units) {
        library_.check(library_.api().context_set_units(context_, &units));
    }
    void set_box(const graft_box& box) { library_.check(library_.api().context_set_box(context_, &box)); }
    void set_log(graft_log_function function, void* user, int32_t level) {
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

  private:
    Library library_;
    graft_context* context_ = nullptr;
};

} // namespace graft
#endif
