// SPDX-License-Identifier: BSD-3-Clause
// See fetch.hpp.
#include "essential/fetch.hpp"

#include <algorithm>
#include <cstring>

namespace graft::essential {

namespace {

/// Levels that an answer brings: fewer rounds against nodes that nobody comes to open.
constexpr int levels_per_answer = 2;

} // namespace

Fetcher::Fetcher(core::Memory& memory)
    : origins_(memory), slot_asked_(memory, "branches asked for"), ids_(memory, "waiting groups"),
      next_ids_(memory, "waiting groups"), stack_(memory, "walking groups"), refused_(memory, "refusals"),
      storage_(memory, "questions") {}

void Fetcher::begin(const LetExchange::Frame& frame, const LetExchange& let,
                    const core::Buffer<lists::Group>& groups) {
    const Forest& forest = frame.forest;
    questions_.clear();
    waiting_.clear();
    was_waiting_.clear();
    next_ids_.clear();
    for (core::Buffer<int32_t>* values : {&origins_.owner, &origins_.source})
        values->resize_keep(0);
    origins_.kind.resize_keep(0);
    slot_asked_.resize(forest.top_end - forest.own_end);
    std::fill(slot_asked_.begin(), slot_asked_.end(), char{0});
    const int64_t count = groups.size();
    stack_.resize(count);
    refused_.resize(count);
    for (int64_t g = 0; g < count; ++g)
        stack_[g] = static_cast<int32_t>(g);
    lists::refuse(lists::walk_input(forest.tree, forest.criterion), forest.criterion.root, 1, groups.data(),
                  stack_.data(), count, refused_.data());
    int64_t left = 0;
    for (int64_t g = 0; g < count; ++g)
        if (refused_[g] != 0)
            stack_[left++] = static_cast<int32_t>(g);
    stack_.resize_keep(left);
    if (left > 0)
        visit(frame, let, groups, forest.criterion.root, 0, left);
}

/// The groups stack_[begin, begin + count) refuse the node: they meet its children, or wait for them.
void Fetcher::visit(const LetExchange::Frame& frame, const LetExchange& let,
                    const core::Buffer<lists::Group>& groups, int32_t node, int64_t begin, int64_t count) {
    const Forest& forest = frame.forest;
    const Branch* branch = node < forest.top_end ? frame.top.branch(forest, node) : nullptr;
    if (branch != nullptr && branch->rank == frame.top.rank())
        return; // the own tree is no remote work
    const bool top = node < forest.top_end && branch == nullptr;
    const tree::Node& at = top ? forest.tree.nodes[node] : let.node(forest, node);
    if (at.child_count == 0)
        return want(frame, node, begin, count);
    const int32_t first_child = at.first_child, child_count = at.child_count;
    // The masks must outlive the visits below, which use refused_, too: they move up the stack as numbers.
    refused_.resize(std::max(refused_.size(), count));
    lists::refuse(lists::walk_input(forest.tree, forest.criterion), first_child, child_count, groups.data(),
                  stack_.data() + begin, count, refused_.data());
    const int64_t masks = begin + count;
    stack_.resize_keep(masks + count);
    for (int64_t k = 0; k < count; ++k)
        stack_[masks + k] = refused_[k];
    for (int c = 0; c < child_count; ++c) {
        const int64_t below = masks + count;
        stack_.resize_keep(below + count);
        int64_t met = 0;
        for (int64_t k = 0; k < count; ++k)
            if (stack_[masks + k] >> c & 1)
                stack_[below + met++] = stack_[begin + k];
        stack_.resize_keep(below + met);
        if (met > 0)
            visit(frame, let, groups, first_child + c, below, met);
    }
    stack_.resize_keep(masks);
}

/// Asks for what is missing of the node, once; its groups wait when that is children.
void Fetcher::want(const LetExchange::Frame& frame, int32_t node, int64_t begin, int64_t count) {
    const Forest& forest = frame.forest;
    const bool slot = node < forest.top_end;
    const int64_t place = node - forest.top_end;
    const Branch* branch = slot ? frame.top.branch(forest, node) : nullptr;
    const bool asked = slot && slot_asked_[node - forest.own_end] != 0;
    const NodeKind kind = asked  ? NodeKind::complete
                          : slot ? (branch->is_leaf ? NodeKind::leaf : NodeKind::inner)
                                 : origins_.kind[place];
    if (kind == NodeKind::complete)
        return;
    questions_.push_back({slot ? branch->rank : origins_.owner[place],
                          slot ? branch->number : origins_.source[place], node - forest.own_end,
                          kind == NodeKind::leaf});
    if (slot)
        slot_asked_[node - forest.own_end] = 1;
    else
        origins_.kind[place] = NodeKind::complete;
    if (kind == NodeKind::leaf)
        return;
    waiting_.push_back({node, next_ids_.size(), count});
    for (int64_t k = 0; k < count; ++k)
        next_ids_.push_back(stack_[begin + k]);
}

void Fetcher::ask(comm::Communicator& comm, const LetExchange::Frame& frame, LetExchange& let) {
    comm.together([&] {
        std::stable_sort(questions_.begin(), questions_.end(),
                         [](const Question& a, const Question& b) { return a.to < b.to; });
        to_send_.clear();
        outgoing_.clear();
        for (const Question& question : questions_)
            to_send_.push_back({question.source, question.number, question.particles});
        for (size_t begin = 0, end = 0; begin < questions_.size(); begin = end) {
            while (end < questions_.size() && questions_[end].to == questions_[begin].to)
                ++end;
            outgoing_.push_back({questions_[begin].to, &to_send_[begin],
                                 static_cast<int64_t>((end - begin) * sizeof(PackedQuestion))});
        }
        questions_.clear();
    });
    comm::sparse_exchange(comm, outgoing_, storage_, incoming_);
    comm.together([&] {
        to_.clear();
        asked_.clear();
        for (const comm::Incoming& from : incoming_)
            for (int64_t at = 0; at < from.bytes; at += static_cast<int64_t>(sizeof(PackedQuestion))) {
                PackedQuestion question;
                std::memcpy(&question, from.data + at, sizeof question);
                to_.push_back(from.from);
                asked_.push_back({question.source, question.number, question.particles != 0});
            }
        let.pack_answers(comm, frame, to_, asked_, levels_per_answer);
    });
}

void Fetcher::go_on(const LetExchange::Frame& frame, LetExchange& let,
                    const core::Buffer<lists::Group>& groups) {
    let.unpack(frame, &origins_);
    waiting_.swap(was_waiting_);
    ids_.swap(next_ids_);
    waiting_.clear();
    next_ids_.clear();
    for (const Waiting& waiting : was_waiting_) {
        stack_.resize(waiting.count);
        std::copy_n(ids_.data() + waiting.begin, waiting.count, stack_.data());
        visit(frame, let, groups, waiting.node, 0, waiting.count);
    }
}

} // namespace graft::essential
