// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/state.hpp"

#include "snapshot/error.hpp"
#include "snapshot/file_io.hpp"
#include "snapshot/metadata.hpp"

#include <cstring>
#include <type_traits>

namespace graft::cli {

namespace {

constexpr char magic[8] = {'G', 'R', 'A', 'F', 'T', 'R', 'S', 'T'};
constexpr std::uint32_t format_version = 2; // 1 had no Origin
constexpr std::uint32_t byte_order_mark = 0x01020304;

class Writer {
  public:
    void bytes(const void* data, std::size_t count) {
        const auto* from = static_cast<const std::byte*>(data);
        out_.insert(out_.end(), from, from + count);
    }
    void item(std::uint32_t value) { bytes(&value, sizeof value); }
    void item(std::int64_t value) { bytes(&value, sizeof value); }
    void item(double value) { bytes(&value, sizeof value); }
    void item(std::uint64_t value) { bytes(&value, sizeof value); }
    void item(const std::string& text) {
        item(static_cast<std::int64_t>(text.size()));
        bytes(text.data(), text.size());
    }
    template <class T>
    void item(const std::vector<T>& values) {
        item(static_cast<std::int64_t>(values.size()));
        if constexpr (std::is_arithmetic_v<T>) {
            bytes(values.data(), values.size() * sizeof(T));
        } else {
            for (const T& value : values) {
                item(value);
            }
        }
    }
    std::vector<std::byte>& data() { return out_; }

  private:
    std::vector<std::byte> out_;
};

class Reader {
  public:
    Reader(Bytes bytes, const std::string& where) : bytes_(bytes), where_(where) {}

    void item(std::uint32_t& value) { take(&value, sizeof value); }
    void item(std::int64_t& value) { take(&value, sizeof value); }
    void item(double& value) { take(&value, sizeof value); }
    void item(std::uint64_t& value) { take(&value, sizeof value); }
    void item(std::string& text) {
        text.resize(count(1));
        take(text.data(), text.size());
    }
    template <class T>
    void item(std::vector<T>& values) {
        if constexpr (std::is_arithmetic_v<T>) {
            values.resize(count(sizeof(T)));
            take(values.data(), values.size() * sizeof(T));
        } else {
            values.resize(count(sizeof(std::int64_t)));
            for (T& value : values) {
                item(value);
            }
        }
    }

  private:
    /// A count of items that can lie in the rest of the file.
    std::size_t count(std::size_t item_bytes) {
        std::int64_t value = 0;
        item(value);
        if (value < 0 || static_cast<std::uint64_t>(value) > (bytes_.size() - offset_) / item_bytes) {
            fail();
        }
        return static_cast<std::size_t>(value);
    }
    void take(void* to, std::size_t count) {
        if (bytes_.size() - offset_ < count) {
            fail();
        }
        if (count > 0) {
            std::memcpy(to, bytes_.data() + offset_, count);
        }
        offset_ += count;
    }
    [[noreturn]] void fail() const {
        throw Error({"restart file is damaged", where_, "more data", std::to_string(bytes_.size()) + " bytes",
                     "start again from a snapshot (run.input)"});
    }

    Bytes bytes_;
    std::string where_;
    std::size_t offset_ = 0;
};

/// The one list of what a restart file holds; Archive is Writer or Reader.
template <class Archive, class StateType>
void transfer(Archive& archive, StateType& state) {
    auto& p = state.particles;
    for (auto* column : {&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz, &p.mass, &p.softening, &state.field.ax,
                         &state.field.ay, &state.field.az}) {
        archive.item(*column);
    }
    archive.item(p.id);
    archive.item(p.component);
    archive.item(p.names);
    for (auto* number : {&p.time, &p.box_size, &p.units.gravitational_constant, &p.units.length_m,
                         &p.units.mass_kg, &p.units.time_s, &p.suggested_softening, &p.suggested_time_step,
                         &state.start_time, &state.time_step, &state.initial_energy}) {
        archive.item(*number);
    }
    for (auto* text : {&p.units.length, &p.units.mass, &p.units.time}) {
        archive.item(*text);
    }
    archive.item(state.step);
}

/// Pairs of key and value, in their order; an Archive that reads appends them to what `pairs` holds.
template <class Pairs>
void transfer_pairs(Writer& writer, const Pairs& pairs) {
    writer.item(static_cast<std::int64_t>(pairs.size()));
    for (const auto& [key, value] : pairs) {
        writer.item(key);
        writer.item(value);
    }
}

template <class Pairs>
void transfer_pairs(Reader& reader, Pairs& pairs) {
    std::int64_t count = 0;
    reader.item(count);
    for (std::int64_t i = 0; i < count; ++i) {
        std::string key, value;
        reader.item(key);
        reader.item(value);
        pairs.insert(pairs.end(), {std::move(key), std::move(value)});
    }
}

template <class Archive, class OriginType>
void transfer_origin(Archive& archive, OriginType& origin) {
    transfer_pairs(archive, origin.keys);
    archive.item(origin.input.bytes);
    archive.item(origin.input.hash);
}

/// The version. Throws Error for what cannot be read.
std::uint32_t require_restart_file(Bytes bytes, const std::string& path) {
    std::uint32_t head[2] = {0, 0};
    if (bytes.size() < sizeof magic + sizeof head + 8 ||
        std::memcmp(bytes.data(), magic, sizeof magic) != 0) {
        throw Error({"not a restart file", path, "a file that 'graft run' wrote", "", "run.restart: false"});
    }
    std::memcpy(head, bytes.data() + sizeof magic, sizeof head);
    if (head[0] != byte_order_mark) {
        throw Error({"restart file of a machine with another byte order", path, "one of this machine", "",
                     "go on where it was written, or start again from a snapshot (run.input)"});
    }
    if (head[1] < 1 || head[1] > format_version) {
        throw Error({"restart file in a format that this Graft does not know", path,
                     "format 1 or " + std::to_string(format_version), "format " + std::to_string(head[1]),
                     "the Graft that wrote it, or start again from a snapshot (run.input)"});
    }
    std::uint64_t stored = 0;
    std::memcpy(&stored, bytes.data() + bytes.size() - sizeof stored, sizeof stored);
    if (stored != fnv_hash(bytes.first(bytes.size() - sizeof stored))) {
        throw Error({"restart file is damaged", path, "a matching checksum", "another one",
                     "start again from a snapshot (run.input)"});
    }
    return head[1];
}

} // namespace

std::vector<std::byte> pack(const State& state) {
    Writer writer;
    transfer(writer, state);
    writer.item(state.place);
    transfer_pairs(writer, state.particles.attributes);
    return std::move(writer.data());
}

State unpack(const std::vector<std::byte>& bytes) {
    Reader reader(bytes, "between ranks");
    State state;
    transfer(reader, state);
    reader.item(state.place);
    transfer_pairs(reader, state.particles.attributes);
    return state;
}

void write_restart(const State& state, const Origin& origin, const std::string& path) {
    Writer writer;
    writer.bytes(magic, sizeof magic);
    writer.item(byte_order_mark);
    writer.item(format_version);
    transfer(writer, state);
    transfer_pairs(writer, state.particles.attributes);
    transfer_origin(writer, origin);
    const std::uint64_t sum = fnv_hash(writer.data());
    writer.bytes(&sum, sizeof sum);
    write_file_atomically(path, writer.data());
}

Restart read_restart(const std::string& path) {
    const std::vector<std::byte> bytes = read_file(path);
    const std::uint32_t version = require_restart_file(bytes, path);
    const std::size_t head = sizeof magic + 2 * sizeof(std::uint32_t);
    Reader reader(Bytes(bytes).subspan(head, bytes.size() - head - sizeof(std::uint64_t)), path);
    Restart restart;
    transfer(reader, restart.state);
    transfer_pairs(reader, restart.state.particles.attributes);
    if (version > 1) {
        transfer_origin(reader, restart.origin);
    } else {
        restart.origin.keys.emplace_back("run.time_step", number_text(restart.state.time_step));
    }
    restart.origin.version = version;
    restart.state.particles.validate(path);
    return restart;
}

} // namespace graft::cli
