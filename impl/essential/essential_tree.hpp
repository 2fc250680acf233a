// SPDX-License-Identifier: BSD-3-Clause
// Locally essential trees: what a rank sends to each other rank, and where it goes there.
//
// Push: the sender walks its own tree with the boxes of the other rank's domain as targets: of every node
// that some box opens the children are sent, of every leaf that some box refuses the particles (of a heap its
// one sum). What all boxes accept ends the message there: no group of the other rank can come to open it,
// since the criterion is the same arithmetic and monotone in the target. Fetch (fetch.hpp): the other rank
// names the nodes instead. A first, coarser exchange of masses alone serves the estimate of the accelerations
// (error MAC). Messages go rank to rank, only where there is something to send, without any waiting before
// finish(). Source: Warren & Salmon 1992 (locally essential trees).
#pragma once

#include "comm/communicator.hpp"
#include "comm/sparse_exchange.hpp"
#include "lists/walk.hpp"
#include "essential/target_domain.hpp"
#include "essential/forest.hpp"
#include "essential/top_tree.hpp"
#include "essential/cpu_message.hpp"

#include <vector>

namespace graft::essential {

/// Where nodes from other ranks are at home; one entry per node behind the top. For fetching only.
struct NodeOrigins {
    explicit NodeOrigins(core::Memory& memory)
        : owner(memory, "owners of nodes"), source(memory, "nodes at home"), kind(memory, "kinds of nodes") {}
    core::Buffer<int32_t> owner, source;
    core::Buffer<NodeKind> kind;
};

class LetExchange {
  public:
    explicit LetExchange(core::Memory& memory);

    enum class Content { masses, all };
    /// A node whose children, or particles, another rank gets; it knows the node as own_end + number.
    struct Root {
        int32_t node, number;
        bool particles;
    };

    /// What stays the same over the exchanges of one computation; references must outlive the next pack.
    struct Frame {
        const backend::Executor& executor;
        const settings::Settings& settings;
        Forest& forest;
        const TopTree& top;
        bool lengths;         // particles have softening lengths of their own
        int64_t record_bytes; // an expansion
    };

    /// Local. Forgets what came in an earlier computation.
    void begin(const Frame& frame);
    /// Local: finds and packs what every other rank needs. `criterion` is the forest's, or a coarse one for
    /// masses. Throws Error(memory).
    void pack_domains(const comm::Communicator& comm, const Frame& frame, const lists::Criterion& criterion,
                      const Domains& domains, Content content);
    /// Local: packs the children (and their descendants, `levels` in all) or particles of the nodes asked
    /// for: asked[k] for rank to[k], ranks ascending. Throws Error(memory).
    void pack_answers(const comm::Communicator& comm, const Frame& frame, const std::vector<int>& to,
                      const std::vector<Root>& asked, int levels);
    /// Collective: tells sizes and starts the messages. Throws Error(memory, communication) on all ranks.
    void start(comm::Communicator& comm);
    /// Waits for them. Throws Error(communication).
    void finish(comm::Communicator& comm) { comm.wait_all(requests_); }
    /// Local: appends what has come behind the nodes of the forest; slots stay as they are until apply.
    /// `origins` may be NULL. Throws Error(memory), Error(unsupported) for more than 2^31 - 1 nodes.
    void unpack(const Frame& frame, NodeOrigins* origins);
    /// Local: the slots of other ranks lead to what has come for them.
    void apply(const Frame& frame) const;

    /// The node with the children and particles that have come for it, a slot or behind the top.
    const tree::Node& node(const Forest& forest, int32_t node) const {
        return node < forest.top_end ? slots_[node - forest.own_end] : forest.tree.nodes[node];
    }
    int64_t nodes_received() const { return nodes_; }
    int64_t particles_received() const { return particles_; }

  private:
    struct Parcel { // to one rank
        explicit Parcel(core::Memory& memory) : openings(memory, "opened nodes") {}
        std::vector<Root> roots; // those with children stand first in openings, in this order
        core::Buffer<lists::Opening> openings;
        std::vector<uint8_t> wanted; // per own root
        MessageHeader header{};
        int64_t bytes = 0, offset = 0;
    };
    struct Arrival {
        int from;
        int64_t bytes, offset;
    };
    void prepare(const comm::Communicator& comm, const Frame& frame, Content content);
    void open(const Frame& frame, const lists::Criterion& criterion, const Domains& domains, int rank);
    void open_levels(const lists::Criterion& criterion, Parcel& parcel, int levels) const;
    void close(const Frame& frame, const lists::Criterion& criterion, int own_rank);
    void measure(const Forest& forest, const lists::Criterion& criterion, Parcel& parcel) const;
    void fill(const Frame& frame, const lists::Criterion& criterion, const Parcel& parcel);
    void unpack_one(const Frame& frame, const Arrival& arrival, const MessageHeader& header,
                    int64_t node_begin, int64_t particle_begin, NodeOrigins* origins);
    MessageHeader header(const Arrival& arrival) const;
    int64_t node_bytes() const { return content_ == Content::all ? sizeof(PackedNode) : sizeof(PackedMass); }

    core::Memory& memory_;
    Content content_ = Content::all;
    int64_t record_bytes_ = 0; // of this message
    int particle_columns_ = 4;
    std::vector<Parcel> parcels_; // per rank
    std::vector<Arrival> arrivals_;
    core::Buffer<char> send_, receive_;
    core::Buffer<tree::Node> slots_; // per top node: what has come for it
    std::vector<comm::Notice> notices_;
    std::vector<comm::Request> requests_;
    int64_t nodes_ = 0, particles_ = 0; // since begin()
};

} // namespace graft::essential
