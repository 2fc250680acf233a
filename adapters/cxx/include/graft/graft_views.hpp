// SPDX-License-Identifier: BSD-3-Clause
// Views for graft.hpp: the host's arrays as the C interface takes them. Included by graft.hpp; not for
// itself.
//
// Anything with data() and size() is an array: std::vector, std::array, std::span. Views do not own: the
// memory must live until the call that takes them returns. A view of const numbers is read-only: the library
// refuses it as a result.
#ifndef GRAFT_VIEWS_HPP
#define GRAFT_VIEWS_HPP

#include <graft/graft.h>
#include <graft/views.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace graft {

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

/// n items of `components` numbers, strides in bytes (0: packed). The library finds out where the memory is;
/// in_memory tells it.
template <class T>
graft_array view(T* data, int64_t n, int32_t components = 1, int64_t item_stride = 0,
                 int64_t component_stride = 0) {
    if constexpr (std::is_const_v<T>)
        return graft_view_const(data, dtype_of<T>(), n, components, item_stride, component_stride);
    else
        return graft_view(data, dtype_of<T>(), n, components, item_stride, component_stride);
}

/// n complex numbers: two components an item.
template <class T>
graft_array view(std::complex<T>* data, int64_t n) {
    return view(reinterpret_cast<T*>(data), n, 2);
}
template <class T>
graft_array view(const std::complex<T>* data, int64_t n) {
    return view(reinterpret_cast<const T*>(data), n, 2);
}

/// All of a vector, array or span of numbers: one component an item (two of complex numbers).
template <class Range>
auto view(Range& range) -> decltype(view(range.data(), static_cast<int64_t>(range.size()))) {
    return view(range.data(), static_cast<int64_t>(range.size()));
}
/// The same for a graft_array made by hand, so that the calls below take either.
inline graft_array view(const graft_array& array) {
    return array;
}

/// n numbers in the memory of a GPU, by its ordinal; not owned. Has no data(): the host must not read it.
template <class T>
struct DeviceSpan {
    T* pointer = nullptr;
    int64_t n = 0;
    int32_t device = 0;
};
/// A view of memory of which the host knows where it is: in_memory(view(xyz, n, 3), GRAFT_MEMORY_DEVICE, device).
inline graft_array in_memory(graft_array array, int32_t memory, int32_t device = 0) {
    array.memory = memory;
    array.device = device;
    return array;
}
template <class T>
graft_array view(const DeviceSpan<T>& span) {
    return in_memory(view(span.pointer, span.n), GRAFT_MEMORY_DEVICE, span.device);
}
/// A result that is added to what stands there, not written over it: potentials(add(phi)).
template <class Result>
graft_array add(Result&& result) {
    graft_array array = view(result);
    array.flags |= GRAFT_ARRAY_ADD;
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
    using Owner = std::remove_pointer_t<decltype(structs.data())>;
    using Member = detail::Member<std::remove_const_t<M>>;
    constexpr bool read_only = std::is_const_v<Owner> || std::is_const_v<M>;
    using Element = std::conditional_t<read_only, const typename Member::Element, typename Member::Element>;
    const int64_t n = static_cast<int64_t>(structs.size());
    Element* first = nullptr;
    if (n > 0)
        first = reinterpret_cast<Element*>(&(structs.data()[0].*member));
    return view(first, n, Member::components, sizeof(Struct));
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
    /// Particles to compute at, from 0; in any order, each at most once.
    template <class A>
    Particles& target_index(A&& indices) {
        return keep(6, view(indices));
    }
    /// Unique over all ranks: decompose and balance split coincident particles by them.
    template <class I>
    Particles& ids(I&& numbers) {
        return keep(7, view(numbers));
    }
    /// Work of each particle, for decompose and balance.
    template <class C>
    Particles& costs(C&& work) {
        return keep(8, view(work));
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
        p.target_index = at(6);
        p.id = at(7);
        p.cost = at(8);
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
    std::array<graft_array, 9> arrays_{};
    double charge_all_ = 1; // the library's 0 is refused: nothing would pull
};

/// Where results go; add(...) around one adds to what stands there. What is not named is not computed.
class Results {
  public:
    template <class X, class Y, class Z>
    Results& accelerations(X&& x, Y&& y, Z&& z) {
        return keep(0, view(x)).keep(1, view(y)).keep(2, view(z));
    }
    Results& accelerations(const graft_array& packed) { return keep(0, packed); }
    template <class P>
    Results& potentials(P&& phi) {
        return keep(3, view(phi));
    }
    Results& virial(std::array<double, 6>& tensor) { return virial(view(tensor.data(), 1, 6)); }
    Results& virial(const graft_array& tensor) { return keep(4, tensor); }
    Results& energy(double& half_sum) { return energy(view(&half_sum, 1)); }
    Results& energy(const graft_array& half_sum) { return keep(5, half_sum); }
    /// Charge times field instead of the field.
    Results& as_force(bool on = true) { return flag(GRAFT_RESULTS_FORCE, on); }
    /// compute_begin on a GPU: what does not fit is not done again in compute_end, which throws AGAIN instead,
    /// with nothing written.
    Results& no_repair(bool on = true) { return flag(GRAFT_RESULTS_NO_REPAIR, on); }
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
    Results& flag(uint32_t bit, bool on) {
        flags_ = on ? flags_ | bit : flags_ & ~bit;
        return *this;
    }
    std::array<graft_array, 6> arrays_{};
    uint32_t flags_ = 0;
};

/// Where decompose writes. What is not named is not written.
class Decomposition {
  public:
    /// The part of each particle: int32_t or int64_t, n items.
    template <class I>
    Decomposition& owners(I&& parts) {
        return keep(0, view(parts));
    }
    /// Indices of the particles sorted by part, n items; offsets: parts + 1 items into it.
    template <class I, class J>
    Decomposition& order(I&& permutation, J&& offsets) {
        return keep(1, view(permutation)).keep(2, view(offsets));
    }
    /// lower x y z, upper x y z of each part: 6 numbers a part, one after the other.
    template <class B>
    Decomposition& boxes(B& corners) {
        return keep(3, view(corners.data(), static_cast<int64_t>(corners.size()) / 6, 6));
    }
    /// The C struct; points into this object.
    graft_decomposition c() const noexcept {
        graft_decomposition d{};
        d.struct_size = sizeof d;
        d.owner = at(0);
        d.permutation = at(1);
        d.part_offset = at(2);
        d.boxes = at(3);
        return d;
    }

  private:
    Decomposition& keep(std::size_t slot, const graft_array& array) {
        arrays_[slot] = array;
        return *this;
    }
    const graft_array* at(int slot) const noexcept {
        const graft_array& array = arrays_[static_cast<std::size_t>(slot)];
        return array.struct_size ? &array : nullptr;
    }
    std::array<graft_array, 4> arrays_{};
};

/// Patches, blocks or tasks for Context::balance_objects.
class Objects {
  public:
    template <class X, class Y, class Z>
    Objects& centres(X&& x, Y&& y, Z&& z) {
        return keep(0, view(x)).keep(1, view(y)).keep(2, view(z));
    }
    Objects& centres(const graft_array& packed) { return keep(0, packed); }
    template <class L>
    Objects& loads(L&& work) {
        return keep(3, view(work));
    }
    /// What moving an object costs.
    template <class B>
    Objects& bytes(B&& sizes) {
        return keep(4, view(sizes));
    }
    template <class I>
    Objects& ids(I&& numbers) {
        return keep(5, view(numbers));
    }
    /// Written: the rank each object should go to.
    template <class I>
    Objects& owners(I&& ranks) {
        return keep(6, view(ranks));
    }
    /// Seconds that the loads of this rank took; 0: unknown.
    Objects& step_s(double seconds) {
        step_s_ = seconds;
        return *this;
    }
    /// pieces(object, load, mean) for each object heavier than the mean load of a rank: how many pieces the
    /// host has made of it, 1 for none. What it throws leaves balance_objects.
    Objects& split(std::function<int32_t(int64_t, double, double)> pieces) {
        split_ = std::move(pieces);
        return *this;
    }
    /// The C struct; points into this object.
    graft_objects c() noexcept {
        graft_objects o{};
        o.struct_size = sizeof o;
        o.n = arrays_[0].n;
        for (int axis = 0; axis < 3; ++axis)
            o.position[axis] = at(axis);
        o.load = at(3);
        o.bytes = at(4);
        o.id = at(5);
        o.owner = at(6);
        o.step_s = step_s_;
        o.split = split_ ? &Objects::call_split : nullptr;
        o.split_user = this;
        return o;
    }
    /// Throws on what the split function threw.
    void rethrow() {
        if (thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

  private:
    static int32_t call_split(void* user, int64_t object, double load, double mean) noexcept {
        auto& self = *static_cast<Objects*>(user);
        try {
            return self.split_(object, load, mean);
        } catch (...) { // must not cross C
            self.thrown_ = std::current_exception();
            return 1;
        }
    }
    Objects& keep(std::size_t slot, const graft_array& array) {
        arrays_[slot] = array;
        return *this;
    }
    const graft_array* at(int slot) const noexcept {
        const graft_array& array = arrays_[static_cast<std::size_t>(slot)];
        return array.struct_size ? &array : nullptr;
    }
    std::array<graft_array, 7> arrays_{};
    double step_s_ = 0;
    std::function<int32_t(int64_t, double, double)> split_;
    std::exception_ptr thrown_;
};

} // namespace graft
#endif
