// SPDX-License-Identifier: BSD-3-Clause
// Essential trees, the sender's side: what to send, and the messages. See essential_tree.hpp.
#include "essential/essential_tree.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace graft::essential {

namespace {

NodeKind kind_of(const lists::Criterion& criterion, int32_t node) {
    return criterion.links[node].child_count > 0 ? NodeKind::inner : NodeKind::leaf;
}

/// Writes one message.
class Writer {
  public:
    Writer(const Forest& forest, const settings::Settings& settings, const lists::Criterion& criterion,
           const char* expansions, int columns, int64_t record_bytes, const MessageHeader& header, const Sections& to)
        : forest_(forest), settings_(settings), criterion_(criterion), expansions_(expansions), columns_(columns),
          record_bytes_(record_bytes), header_(header), to_(to) {}

    void put_root(const LetExchange::Root& root) {
        const int32_t children = root.particles ? 0 : criterion_.links[root.node].child_count;
        *to_.roots++ = {root.number, children, root.particles ? put_particles(root.node) : 0, 0};
    }

    void put_mass(int32_t k, bool opened) {
        const moments::Moments& m = forest_.moments;
        const PackedMass mass{{m.cx[k], m.cy[k], m.cz[k]},
                              m.magnitude[k],
                              forest_.tree.boxes[k].longest_edge(),
                              forest_.estimated_softening(settings_, k),
                              opened ? criterion_.links[k].child_count : 0};
        std::memcpy(to_.nodes, &mass, sizeof mass);
        to_.nodes += sizeof mass;
    }

    void put_node(int32_t k, bool opened, bool wanted) {
        const moments::Moments& m = forest_.moments;
        const bool lengths = !m.softening.empty();
        const PackedNode node{{m.cx[k], m.cy[k], m.cz[k]},
                              criterion_.a[k],
                              criterion_.b[k],
                              m.radius[k] > 0 ? m.rho[k] : 0,
                              m.magnitude[k],
                              lengths ? m.softening[k] : 0,
                              lengths ? m.softening_square[k] : 0,
                              forest_.tree.boxes[k],
                              opened ? criterion_.links[k].child_count : 0,
                              wanted ? put_particles(k) : 0,
                              k,
                              kind_of(criterion_, k)};
        std::memcpy(to_.nodes, &node, sizeof node);
        std::memcpy(to_.records, expansions_ + k * record_bytes_, static_cast<size_t>(record_bytes_));
        to_.nodes += sizeof node;
        to_.records += record_bytes_;
    }

  private:
    int32_t put_particles(int32_t node) {
        const Forest::Source source = forest_.source_of(node);
        const double* from[5] = {source.from.x, source.from.y, source.from.z, source.from.charge,
                                 source.from.softening};
        for (int c = 0; c < columns_; ++c)
            std::copy_n(from[c] + source.first, source.count,
                        to_.particles + c * header_.particles + particle_);
        particle_ += source.count;
        return static_cast<int32_t>(source.count);
    }

    const Forest& forest_;
    const settings::Settings& settings_;
    const lists::Criterion& criterion_;
    const char* expansions_;
    int columns_;
    int64_t record_bytes_;
    MessageHeader header_;
    Sections to_;
    int64_t particle_ = 0;
};

} // namespace

void LetExchange::prepare(const comm::Communicator& comm, const Frame& frame, Content content) {
    content_ = content;
    record_bytes_ = content == Content::all ? frame.record_bytes : 0;
    particle_columns_ = frame.lengths ? 5 : 4;
    const auto ranks = static_cast<size_t>(comm.size());
    parcels_.reserve(ranks);
    while (parcels_.size() < ranks)
        parcels_.emplace_back(memory_);
    for (Parcel& parcel : parcels_) {
        parcel.roots.clear();
        parcel.openings.clear();
    }
}

/// What a rank's domain opens of the own tree.
void LetExchange::open(const Frame& frame, const lists::Criterion& criterion, const Domains& domains,
                       int rank) {
    Parcel& parcel = parcels_[static_cast<size_t>(rank)];
    const int32_t roots = frame.forest.own_roots();
    parcel.wanted.resize(static_cast<size_t>(roots));
    for (int32_t k = 0; k < roots; ++k)
        parcel.wanted[static_cast<size_t>(k)] = criterion.links[k].child_count == 0;
    lists::open_for_targets(lists::walk_input(frame.forest.tree, criterion), 0, roots, domains.boxes(rank),
                            domains.count(rank), parcel.wanted.data(), parcel.openings);
    // A root's number is that of its slot, whose place behind own_end is the same on every rank.
    const auto number = [&](int32_t k) { return frame.top.slot(frame.top.rank(), k) - frame.forest.own_end; };
    for (int32_t k = 0; k < roots && content_ == Content::all; ++k)
        if (parcel.wanted[static_cast<size_t>(k)] != 0)
            parcel.roots.push_back({k, number(k), true});
    for (const lists::Opening& opening : parcel.openings) {
        if (opening.node >= roots)
            break;
        parcel.roots.push_back({opening.node, number(opening.node), false});
    }
}

/// Opens the roots with children, and everything down to `levels` below them.
void LetExchange::open_levels(const lists::Criterion& criterion, Parcel& parcel, int levels) const {
    for (const Root& root : parcel.roots)
        if (!root.particles)
            parcel.openings.push_back({root.node, 0, 0, 0, 0});
    int64_t level_end = parcel.openings.size();
    for (int64_t i = 0; i < parcel.openings.size(); ++i) {
        if (i == level_end) {
            level_end = parcel.openings.size();
            --levels;
        }
        const lists::Link link = criterion.links[parcel.openings[i].node];
        const uint32_t all = (1u << link.child_count) - 1;
        parcel.openings[i].opened =
            static_cast<uint8_t>(levels > 1 ? all & ~uint32_t{link.terminal_mask} : 0);
        for (uint32_t left = parcel.openings[i].opened; left != 0; left &= left - 1)
            parcel.openings.push_back({link.first_child + std::countr_zero(left), 0, 0, 0, 0});
    }
}

void LetExchange::measure(const Forest& forest, const lists::Criterion& criterion, Parcel& parcel) const {
    MessageHeader& h = parcel.header;
    h = {static_cast<int64_t>(parcel.roots.size()), 0, 0};
    for (const Root& root : parcel.roots)
        h.particles += root.particles ? forest.source_of(root.node).count : 0;
    for (const lists::Opening& opening : parcel.openings) {
        const lists::Link& link = criterion.links[opening.node];
        h.nodes += link.child_count;
        for (uint32_t left = opening.leaves; left != 0 && content_ == Content::all; left &= left - 1)
            h.particles += forest.source_of(link.first_child + std::countr_zero(left)).count;
    }
    parcel.bytes = message_bytes(h, node_bytes(), record_bytes_, particle_columns_);
}

void LetExchange::fill(const Frame& frame, const lists::Criterion& criterion, const Parcel& parcel) {
    if (parcel.bytes == 0)
        return;
    char* message = send_.data() + parcel.offset;
    std::memcpy(message, &parcel.header, sizeof parcel.header);
    Writer writer(frame.forest, frame.settings, criterion, frame.forest.expansion_bytes(frame.settings),
                  particle_columns_, record_bytes_, parcel.header,
                  sections(message, parcel.header, node_bytes(), record_bytes_));
    for (const Root& root : parcel.roots)
        writer.put_root(root);
    for (const lists::Opening& opening : parcel.openings) {
        const lists::Link& link = criterion.links[opening.node];
        for (int c = 0; c < link.child_count; ++c) {
            const bool opened = opening.opened >> c & 1, wanted = opening.leaves >> c & 1;
            if (content_ == Content::masses)
                writer.put_mass(link.first_child + c, opened);
            else
                writer.put_node(link.first_child + c, opened, wanted);
        }
    }
}

/// Sizes, then the messages, in rank order.
void LetExchange::close(const Frame& frame, const lists::Criterion& criterion, int own_rank) {
    const auto count = static_cast<int64_t>(parcels_.size());
    frame.executor.for_each(
        count,
        [&](int64_t r) {
            if (r != own_rank)
                measure(frame.forest, criterion, parcels_[static_cast<size_t>(r)]);
        },
        1);
    parcels_[static_cast<size_t>(own_rank)].bytes = 0;
    int64_t total = 0;
    for (Parcel& parcel : parcels_) {
        parcel.offset = total;
        total += parcel.bytes;
    }
    send_.resize(total);
    frame.executor.for_each(
        count, [&](int64_t r) { fill(frame, criterion, parcels_[static_cast<size_t>(r)]); }, 1);
}

void LetExchange::pack_domains(const comm::Communicator& comm, const Frame& frame,
                               const lists::Criterion& criterion, const Domains& domains, Content content) {
    prepare(comm, frame, content);
    frame.executor.for_each(
        comm.size(),
        [&](int64_t r) {
            if (r != comm.rank())
                open(frame, criterion, domains, static_cast<int>(r));
        },
        1);
    close(frame, criterion, comm.rank());
}

void LetExchange::pack_answers(const comm::Communicator& comm, const Frame& frame, const std::vector<int>& to,
                               const std::vector<Root>& asked, int levels) {
    prepare(comm, frame, Content::all);
    for (size_t k = 0; k < asked.size(); ++k)
        parcels_[static_cast<size_t>(to[k])].roots.push_back(asked[k]);
    for (Parcel& parcel : parcels_)
        open_levels(frame.forest.criterion, parcel, levels);
    close(frame, frame.forest.criterion, comm.rank());
}

} // namespace graft::essential
