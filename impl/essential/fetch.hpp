// SPDX-License-Identifier: BSD-3-Clause
// Nodes of other ranks on demand: one cache per process, filled by what the own groups come to open.
//
// Groups that refuse a node wait for its children; all of them together ask its owner once (a node is asked
// for at most once a computation). Answers bring some levels at a time. Rounds end when no rank wants more;
// between question and answer a rank sums local work. The cache is the same array of nodes that essential
// trees are pushed into, and in the end holds what the groups need and nothing that only a box around them
// would. Source: liu2022 (ParaTreeT's software cache: remote nodes fetched on demand, traversals paused until
// they are here).
#pragma once

#include "essential/essential_tree.hpp"

namespace graft::essential {

class Fetcher {
  public:
    explicit Fetcher(core::Memory& memory);

    /// Local. All groups stand at the root of the forest and go as far as the nodes here allow. Throws
    /// Error(memory).
    void begin(const LetExchange::Frame& frame, const LetExchange& let,
               const core::Buffer<lists::Group>& groups);
    /// Nodes that this rank wants more of now.
    int64_t wanted() const { return static_cast<int64_t>(questions_.size()); }
    /// Collective: questions go out, the others' come in and their answers are packed in `let`. Throws as
    /// comm::sparse_exchange does.
    void ask(comm::Communicator& comm, const LetExchange::Frame& frame, LetExchange& let);
    /// Local. Answers have come (let.finish): they join the forest, and the waiting groups go on.
    void go_on(const LetExchange::Frame& frame, LetExchange& let, const core::Buffer<lists::Group>& groups);

  private:
    struct Question {
        int32_t to, source, number;
        bool particles;
    };
    struct PackedQuestion {
        int32_t source, number, particles;
    };
    struct Waiting { // groups ids_[begin, begin + count) wait for the children of a node
        int32_t node;
        int64_t begin, count;
    };
    void visit(const LetExchange::Frame& frame, const LetExchange& let,
               const core::Buffer<lists::Group>& groups, int32_t node, int64_t begin, int64_t count);
    void want(const LetExchange::Frame& frame, int32_t node, int64_t begin, int64_t count);

    NodeOrigins origins_;
    core::Buffer<char> slot_asked_;        // per top node
    core::Buffer<int32_t> ids_, next_ids_; // of groups that wait, last round's and this one's
    core::Buffer<int32_t> stack_;          // of groups that are on their way down
    core::Buffer<uint8_t> refused_;
    std::vector<Waiting> waiting_, was_waiting_;
    std::vector<Question> questions_;
    std::vector<PackedQuestion> to_send_;
    std::vector<comm::Outgoing> outgoing_;
    std::vector<comm::Incoming> incoming_;
    core::Buffer<char> storage_;
    std::vector<int> to_;
    std::vector<LetExchange::Root> asked_;
};

} // namespace graft::essential
