// SPDX-License-Identifier: BSD-3-Clause
// Parts of a structure, see structure_parts.hpp.
#include "near/structure_parts.hpp"

#include "near/structure_view.hpp"

#include <algorithm>

namespace graft::near {

namespace {

constexpr double target_pairs = 30; // what a target costs beside its pairs

double pairs_of(const Structure& all, int64_t box) {
    int64_t sources = 0;
    for (int64_t e = all.neighbour_offset[box]; e < all.neighbour_offset[box + 1]; ++e)
        sources += all.source_offset[all.neighbour[e] + 1] - all.source_offset[all.neighbour[e]];
    return static_cast<double>(sources) *
           static_cast<double>(all.target_offset[box + 1] - all.target_offset[box]);
}

/// Boxes [cut[k], cut[k + 1]) are part k's.
std::vector<int64_t> cuts_of(const Structure& all, int32_t parts) {
    const int64_t boxes = all.target_boxes();
    std::vector<double> before(static_cast<size_t>(boxes) + 1, 0);
    for (int64_t b = 0; b < boxes; ++b)
        before[static_cast<size_t>(b) + 1] =
            before[static_cast<size_t>(b)] + pairs_of(all, b) +
            target_pairs * static_cast<double>(all.target_offset[b + 1] - all.target_offset[b]);
    std::vector<int64_t> cut;
    for (int32_t k = 0; k <= parts; ++k) {
        const double wanted = before.back() * k / parts;
        cut.push_back(std::upper_bound(before.begin(), before.end(), wanted) - before.begin() - 1);
    }
    cut.front() = 0;
    cut.back() = boxes;
    return cut;
}

/// The boxes that [begin, end) need, ascending; with themselves where the targets are the sources.
std::vector<int32_t> needed_boxes(const Structure& all, int64_t begin, int64_t end) {
    std::vector<int32_t> list(all.neighbour.begin() + all.neighbour_offset[begin],
                              all.neighbour.begin() + all.neighbour_offset[end]);
    for (int64_t b = begin; all.same && b < end; ++b)
        list.push_back(static_cast<int32_t>(b));
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

int64_t point_of(std::span<const int64_t> index, int64_t slot) {
    return index.empty() ? slot : index[static_cast<size_t>(slot)];
}

/// A part's boxes of sources: those that are needed, and a box of one point where some were left out.
class Sources {
  public:
    Sources(const Structure& all, const std::vector<int32_t>& boxes) : all_(all), number_(boxes.size()) {
        int64_t end = boxes.empty() ? 0 : all.source_offset[boxes.front()];
        for (size_t k = 0; k < boxes.size(); ++k) {
            const int64_t first = all.source_offset[boxes[k]];
            if (first != end)
                add(end, end + 1);
            end = all.source_offset[boxes[k] + 1];
            number_[k] = static_cast<int32_t>(offset.size()) - 1;
            add(first, end);
        }
    }
    /// The number in the part of needed box k.
    int32_t number(size_t k) const { return number_[k]; }
    std::vector<int64_t> offset{0}, point;

  private:
    void add(int64_t first, int64_t end) {
        for (int64_t slot = first; slot < end; ++slot)
            point.push_back(point_of(all_.source_index, slot));
        offset.push_back(static_cast<int64_t>(point.size()));
    }
    const Structure& all_;
    std::vector<int32_t> number_;
};

/// The caller's numbers of a part's slots, those of [begin, end) first, each ascending; and where each slot's
/// is among them: no index where that is its own place.
void put_in_order(const std::vector<int64_t>& of_slots, int64_t begin, int64_t end,
                  std::vector<int64_t>& numbers, std::vector<int64_t>& index) {
    if (begin == 0 && std::is_sorted(of_slots.begin(), of_slots.begin() + end) &&
        std::is_sorted(of_slots.begin() + end, of_slots.end())) {
        numbers = of_slots;
        return;
    }
    const int64_t most = *std::max_element(of_slots.begin(), of_slots.end());
    constexpr int64_t nobodys = -1, own = -2, others = -3; // then: the place
    std::vector<int64_t> place(static_cast<size_t>(most) + 1, nobodys);
    for (size_t slot = 0; slot < of_slots.size(); ++slot) {
        const auto at = static_cast<int64_t>(slot);
        place[static_cast<size_t>(of_slots[slot])] = at >= begin && at < end ? own : others;
    }
    for (const int64_t whose : {own, others})
        for (int64_t point = 0; point <= most; ++point)
            if (int64_t& at = place[static_cast<size_t>(point)]; at == whose) {
                at = static_cast<int64_t>(numbers.size());
                numbers.push_back(point);
            }
    index.resize(of_slots.size());
    std::transform(of_slots.begin(), of_slots.end(), index.begin(),
                   [&](int64_t point) { return place[static_cast<size_t>(point)]; });
}

/// The list of box b, in the part's numbers.
void add_list(const Structure& all, int64_t b, const std::vector<int32_t>& boxes, const Sources& sources,
              StructurePart& part) {
    for (int64_t e = all.neighbour_offset[b]; e < all.neighbour_offset[b + 1]; ++e) {
        const auto at = std::lower_bound(boxes.begin(), boxes.end(), all.neighbour[e]) - boxes.begin();
        part.neighbour.push_back(sources.number(static_cast<size_t>(at)));
    }
}

StructurePart part_of(const Structure& all, int64_t begin, int64_t end) {
    StructurePart part;
    part.same = all.same;
    part.neighbour_offset.push_back(0);
    const std::vector<int32_t> boxes = needed_boxes(all, begin, end);
    Sources sources(all, boxes);
    const auto close_list = [&] {
        part.neighbour_offset.push_back(static_cast<int64_t>(part.neighbour.size()));
    };
    for (int64_t b = begin; b < end; ++b)
        part.pairs += pairs_of(all, b);
    if (!all.same) {
        std::vector<int64_t> targets; // of slots
        part.target_offset.push_back(0);
        for (int64_t b = begin; b < end; ++b) {
            for (int64_t slot = all.target_offset[b]; slot < all.target_offset[b + 1]; ++slot)
                targets.push_back(point_of(all.target_index, slot));
            part.target_offset.push_back(static_cast<int64_t>(targets.size()));
            add_list(all, b, boxes, sources, part);
            close_list();
        }
        part.own = static_cast<int64_t>(targets.size());
        part.source_offset = std::move(sources.offset);
        put_in_order(targets, 0, part.own, part.target, part.target_index);
        put_in_order(sources.point, 0, 0, part.source, part.source_index);
        return part;
    }
    int64_t own_begin = 0, own_end = 0; // slots
    for (size_t k = 0; k < boxes.size(); ++k) {
        while (static_cast<int32_t>(part.neighbour_offset.size()) - 1 < sources.number(k))
            close_list(); // of a point that stands for others
        if (boxes[k] >= begin && boxes[k] < end) {
            const auto own = static_cast<size_t>(sources.number(k));
            if (boxes[k] == begin)
                own_begin = sources.offset[own];
            own_end = sources.offset[own + 1];
            add_list(all, boxes[k], boxes, sources, part);
        }
        close_list();
    }
    part.target_offset = std::move(sources.offset);
    put_in_order(sources.point, own_begin, own_end, part.target, part.target_index);
    part.own = own_end - own_begin;
    return part;
}

} // namespace

Structure StructurePart::view() const {
    return view_of(*this);
}

int64_t StructurePart::bytes() const {
    return 8 * static_cast<int64_t>(target_offset.size() + source_offset.size() + neighbour_offset.size() +
                                    target_index.size() + source_index.size() + target.size() +
                                    source.size()) +
           4 * static_cast<int64_t>(neighbour.size());
}

std::vector<StructurePart> cut_structure(const Structure& all, int32_t parts) {
    const std::vector<int64_t> cut = cuts_of(all, parts);
    std::vector<StructurePart> list;
    for (size_t k = 0; k + 1 < cut.size(); ++k)
        list.push_back(part_of(all, cut[k], cut[k + 1]));
    return list;
}

} // namespace graft::near
