// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/ranks.hpp"

#include "ranks/launcher.hpp"
#include "snapshot/error.hpp"

#include <graft/graft_mpi_loader.h>
#include <graft/types.h>

#include <array>
#include <cstring>
#include <dlfcn.h>
#include <numeric>

namespace graft::cli {

namespace {

template <typename Function>
Function function_of(void* library, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) {
        throw Error({"the MPI shim has no function " + std::string(name), "starting MPI", "", "",
                     "the shim that was built with this command"});
    }
    return reinterpret_cast<Function>(symbol);
}

using Start = std::int32_t (*)();
using World = std::int32_t (*)(graft_comm_v1**);
using Text = const char* (*)();

void require_shim(std::int32_t status, void* library, const char* what) {
    if (status != GRAFT_OK) {
        throw Error({function_of<Text>(library, "graft_mpi_error")(), what, "", "", ""});
    }
}

void* open_shim(const std::string& family) {
    std::array<char, 4096> message{};
    std::int32_t status = GRAFT_OK;
    void* library = graft_open_mpi_shim(family.c_str(), &status, message.data(),
                                        static_cast<std::int64_t>(message.size()));
    if (library == nullptr) {
        throw Error({message.data(), "this command was started by mpiexec, or with --mpi " + family,
                     "the MPI shim", "", "--mpi none to run every process by itself"});
    }
    return library;
}

std::int64_t total(const std::vector<std::int64_t>& bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& bytes) {
    std::vector<std::int64_t> result(bytes.size());
    std::exclusive_scan(bytes.begin(), bytes.end(), result.begin(), std::int64_t{0});
    return result;
}

} // namespace

Ranks& Ranks::here() {
    static Ranks ranks;
    return ranks;
}

void Ranks::start(const std::string& mpi) {
    const std::string family = mpi_family(mpi);
    if (family.empty() || table_ != nullptr) {
        return;
    }
    library_ = open_shim(family);
    require_shim(function_of<Start>(library_, "graft_mpi_start")(), library_, "starting MPI");
    require_shim(function_of<World>(library_, "graft_mpi_world")(&table_), library_, "starting MPI");
    mpi_ = function_of<Text>(library_, "graft_mpi_built_for")();
}

std::string Ranks::agree(const std::string& error) noexcept {
    if (table_ != nullptr && !error.empty()) {
        table_->comm_fail(table_->self, error.c_str());
    } else if (table_ != nullptr && table_->comm_barrier(table_->self) != GRAFT_OK) {
        return table_->comm_error_text(table_->self);
    }
    return error;
}

void Ranks::finish() noexcept {
    if (table_ != nullptr) {
        table_->comm_free(table_);
        table_ = nullptr;
        reinterpret_cast<Start>(dlsym(library_, "graft_mpi_finish"))();
    }
}

void Ranks::require(std::int32_t status) const {
    if (status != GRAFT_OK) {
        throw Error({table_->comm_error_text(table_->self), "between ranks", "", "", ""});
    }
}

template <typename T>
void Ranks::reduce(T* values, std::size_t count, std::int32_t dtype, std::int32_t operation) {
    if (table_ != nullptr) {
        require(table_->comm_allreduce(table_->self, values, values, static_cast<std::int64_t>(count), dtype,
                                       operation));
    }
}

void Ranks::barrier() {
    if (table_ != nullptr) {
        require(table_->comm_barrier(table_->self));
    }
}

void Ranks::sum(std::span<double> values) {
    reduce(values.data(), values.size(), GRAFT_F64, GRAFT_COMM_SUM);
}

double Ranks::sum(double value) {
    reduce(&value, 1, GRAFT_F64, GRAFT_COMM_SUM);
    return value;
}

std::int64_t Ranks::sum(std::int64_t value) {
    reduce(&value, 1, GRAFT_I64, GRAFT_COMM_SUM);
    return value;
}

double Ranks::max(double value) {
    reduce(&value, 1, GRAFT_F64, GRAFT_COMM_MAX);
    return value;
}

std::int64_t Ranks::max(std::int64_t value) {
    reduce(&value, 1, GRAFT_I64, GRAFT_COMM_MAX);
    return value;
}

void Ranks::broadcast(ByteVector& bytes) {
    if (table_ == nullptr) {
        return;
    }
    auto count = static_cast<std::int64_t>(bytes.size());
    require(table_->comm_bcast(table_->self, &count, sizeof count, 0));
    bytes.resize(static_cast<std::size_t>(count));
    require(table_->comm_bcast(table_->self, bytes.data(), count, 0));
}

void Ranks::exchange(const ByteVector& out, const std::vector<std::int64_t>& out_bytes, ByteVector& in,
                     const std::vector<std::int64_t>& in_bytes) {
    in.resize(static_cast<std::size_t>(total(in_bytes)));
    require(table_->comm_alltoallv(table_->self, out.data(), out_bytes.data(), offsets(out_bytes).data(),
                                   in.data(), in_bytes.data(), offsets(in_bytes).data()));
}

ByteVector Ranks::scatter(std::vector<ByteVector>& parts) {
    if (table_ == nullptr) {
        return std::move(parts[0]);
    }
    std::vector<std::int64_t> out_bytes(static_cast<std::size_t>(size())), in_bytes(out_bytes.size());
    ByteVector out, in;
    for (std::size_t r = 0; first() && r < parts.size(); ++r) {
        out_bytes[r] = static_cast<std::int64_t>(parts[r].size());
        out.insert(out.end(), parts[r].begin(), parts[r].end());
        ByteVector().swap(parts[r]);
    }
    std::vector<std::int64_t> sizes = out_bytes;
    require(table_->comm_bcast(table_->self, sizes.data(), static_cast<std::int64_t>(sizes.size() * 8), 0));
    in_bytes[0] = sizes[static_cast<std::size_t>(rank())];
    exchange(out, out_bytes, in, in_bytes);
    return in;
}

std::vector<ByteVector> Ranks::gather(const ByteVector& bytes) {
    if (table_ == nullptr) {
        return {bytes};
    }
    const auto ranks = static_cast<std::size_t>(size());
    std::vector<std::int64_t> sizes(ranks), eight(ranks, 8), out_bytes(ranks), in_bytes(ranks);
    const auto mine = static_cast<std::int64_t>(bytes.size());
    require(
        table_->comm_allgatherv(table_->self, &mine, 8, sizes.data(), eight.data(), offsets(eight).data()));
    out_bytes[0] = mine;
    if (first()) {
        in_bytes = sizes;
    }
    ByteVector in;
    exchange(bytes, out_bytes, in, in_bytes);
    std::vector<ByteVector> parts;
    auto at = in.begin();
    for (std::size_t r = 0; first() && r < ranks; ++r) {
        parts.emplace_back(at, at + sizes[r]);
        at += sizes[r];
    }
    return parts;
}

} // namespace graft::cli
