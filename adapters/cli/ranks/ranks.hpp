// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a `graft` command: started by mpiexec there are many, otherwise there is one, and everything
// here is then a plain copy. Only rank 0 reads, writes and prints. Invariant: all ranks run the same command
// line and make the same calls of this class in the same order; a rank that fails says so (fail()), and the
// others' next call throws.
#pragma once

#include <graft/comm.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace graft::cli {

using ByteVector = std::vector<std::byte>;

class Ranks {
  public:
    /// This process's ranks; one until start() finds more.
    static Ranks& here();

    /// Looks at the environment for an mpiexec, loads the MPI shim that fits and starts MPI. `mpi`: "auto",
    /// "none", "mpich" or "openmpi". Throws Error when there are ranks but no shim.
    void start(const std::string& mpi);
    /// At the end of a command: `error` is this rank's, "" where all went well; what is returned is this one
    /// or that of a rank that failed. Collective.
    std::string agree(const std::string& error) noexcept;
    /// Ends MPI where start() began it. A launcher may end all ranks when the first leaves, so print before.
    void finish() noexcept;

    int rank() const noexcept { return table_ == nullptr ? 0 : table_->rank; }
    int size() const noexcept { return table_ == nullptr ? 1 : table_->size; }
    bool first() const noexcept { return rank() == 0; }
    bool alone() const noexcept { return size() == 1; }
    /// NULL: one rank without MPI.
    const graft_comm_v1* table() const noexcept { return table_; }
    /// "MPICH", "Open MPI" or "none".
    const std::string& mpi() const noexcept { return mpi_; }

    void barrier();
    void sum(std::span<double> values);
    double sum(double value);
    std::int64_t sum(std::int64_t value);
    double max(double value);
    std::int64_t max(std::int64_t value);
    /// Rank 0's bytes to all.
    void broadcast(ByteVector& bytes);
    /// Rank 0 gives parts[r] to rank r; returns this rank's part.
    ByteVector scatter(std::vector<ByteVector>& parts);
    /// On rank 0 the bytes of every rank; empty elsewhere.
    std::vector<ByteVector> gather(const ByteVector& bytes);

    /// First of `n` items of the block that rank r holds: blocks are contiguous, their sizes differ by one at
    /// most.
    std::int64_t block_begin(std::int64_t n, int r) const noexcept { return n * r / size(); }

  private:
    template <typename T>
    void reduce(T* values, std::size_t count, std::int32_t dtype, std::int32_t operation);
    void exchange(const ByteVector& out, const std::vector<std::int64_t>& out_bytes, ByteVector& in,
                  const std::vector<std::int64_t>& in_bytes);
    void require(std::int32_t status) const;

    void* library_ = nullptr;
    graft_comm_v1* table_ = nullptr;
    std::string mpi_ = "none";
};

} // namespace graft::cli
