// Locally essential trees: what a rank sends to each other rank, and where it goes there.
//
// The sender walks its own tree with the boxes of the other rank's domain as targets: of every node that some
// box opens the children are sent, of every leaf that some box refuses the particles (of a heap its one sum).
// What all boxes accept ends the message there: no group of the other rank can come to open it, since the
// criterion is the same arithmetic and monotone in the target. A first, coarser exchange of masses alone
// serves the estimate of the accelerations (error MAC). Messages go rank to rank without any waiting before
// finish(). Source: Warren & Salmon 1992 (locally essential trees).
#pragma once

#include "comm/communicator.hpp"
#include "lists/walk.hpp"
#include "pipeline/domain.hpp"
#include "pipeline/forest.hpp"
#include "pipeline/top_tree.hpp"

#include <vector>

namespace graft::pipeline {

/// A node on its way; its expansion stands in a section of its own.
struct WireNode {
    double centre[3], a, b, rho; // rho 0: a point
    double softening, softening_square;
    geometry::Box box;
    int32_t child_count, particle_count;
};

/// A node for the estimate of accelerations.
struct WireMass {
    double centre[3], magnitude, edge;
    int64_t child_count;
};

/// An opened root, or a wanted one.
struct WireRoot {
    int32_t number, child_count, particle_count, unused;
};

/// Sections of a message, in this order; all are multiples of 8 bytes.
struct WireHeader {
    int64_t roots, nodes, particles;
};

class LetExchange {
  public:
    explicit LetExchange(core::Memory& memory);

    enum class Content { masses, all };

    /// Local: finds and packs what every other rank needs. `criterion` is the forest's, or a coarse one for
    /// masses. Throws Error(memory).
    void pack(const comm::Communicator& comm, const backend::Executor& executor, const Settings& settings,
              const Forest& forest, const lists::Criterion& criterion, const Domains& domains,
              Content content, int64_t record_bytes);
    /// Collective: exchanges sizes and starts the messages. Throws Error(memory, communication) on all ranks.
    void start(comm::Communicator& comm);
    /// Waits for them. Throws Error(communication).
    void finish(comm::Communicator& comm) { comm.wait_all(requests_); }
    /// Local: appends the nodes behind the top. Throws Error(memory).
    void unpack(const backend::Executor& executor, const Settings& settings, const TopTree& top,
                Forest& forest, bool per_particle_softening) const;

    int64_t nodes_received() const;
    int64_t particles_received() const;

  private:
    struct Parcel;
    void open(const Forest& forest, const lists::Criterion& criterion, const Domains& domains, int rank);
    void measure(const Forest& forest, const lists::Criterion& criterion, int rank);
    void fill(const Settings& settings, const Forest& forest, const lists::Criterion& criterion, int rank);
    int64_t message_bytes(const WireHeader& header) const;
    WireHeader header(int rank) const;
    void unpack_one(const Settings& settings, const TopTree& top, Forest& forest, int rank,
                    int64_t node_begin, int64_t particle_begin) const;

    core::Memory& memory_;
    Content content_ = Content::all;
    int64_t record_bytes_ = 0;
    bool softening_ = false;                             // particles carry lengths
    std::vector<core::Buffer<lists::Opening>> openings_; // per rank
    std::vector<std::vector<uint8_t>> wanted_roots_;     // per rank, per own root
    std::vector<WireHeader> headers_;
    core::Buffer<char> send_, receive_;
    std::vector<int64_t> send_bytes_, send_offset_, receive_bytes_, receive_offset_, ones_, places_;
    std::vector<comm::Request> requests_;
};

} // namespace graft::pipeline
