// SPDX-License-Identifier: BSD-3-Clause
// CSV, HDF5 and VTK files: exact round trips, clear errors, atomic writes.
#include "snapshot/csv.hpp"
#include "snapshot/error.hpp"
#include "snapshot/formats.hpp"
#include "snapshot/gadget_hdf5.hpp"
#include "snapshot/rehearsal.hpp"
#include "support.hpp"

#include <csignal>
#include <cstring>
#include <limits>
#include <sys/resource.h>

namespace graft::cli::test {
namespace {

// Numbers that need all 17 digits, every component, names with awkward letters, metadata.
Snapshot awkward() {
    Snapshot s;
    s.resize(12);
    for (std::size_t i = 0; i < s.size(); ++i) {
        const double t = 1.0 / 3.0 + static_cast<double>(i) * 0.1;
        s.x[i] = t;
        s.y[i] = -t * 1e-300;
        s.z[i] = t * 1e300;
        s.vx[i] = std::nextafter(1.0, 2.0) * t;
        s.vy[i] = std::sqrt(t);
        s.vz[i] = std::numeric_limits<double>::denorm_min() * static_cast<double>(i);
        s.mass[i] = 2.0 / 3.0 * t;
        s.id[i] = std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(i);
        s.component[i] = static_cast<std::int32_t>(i / 2); // ascending, as HDF5 groups them
        s.softening.push_back(0.1 * t);
        s.names.push_back(i % 3 == 0 ? "a \"b\", c" : "");
    }
    s.time = 0.1 + 0.2;
    s.box_size = 1e10 / 3.0;
    s.units = {
        4.30091727e-6,        "kpc", "solar mass", "kpc/(km/s)", 3.0856775814913673e19, 1.988409870698051e30,
        3.0856775814913673e16};
    s.suggested_softening = 0.03;
    s.suggested_time_step = 1.0 / 7.0;
    s.attributes = {{"seed", "18446744073709551615"}, {"model", "test"}};
    return s;
}

void expect_same(const Snapshot& a, const Snapshot& b) {
    EXPECT_EQ(a.x, b.x);
    EXPECT_EQ(a.y, b.y);
    EXPECT_EQ(a.z, b.z);
    EXPECT_EQ(a.vx, b.vx);
    EXPECT_EQ(a.vy, b.vy);
    EXPECT_EQ(a.vz, b.vz);
    EXPECT_EQ(a.mass, b.mass);
    EXPECT_EQ(a.softening, b.softening);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.component, b.component);
    EXPECT_EQ(a.names, b.names);
    EXPECT_EQ(a.time, b.time);
    EXPECT_EQ(a.box_size, b.box_size);
    EXPECT_EQ(a.units.gravitational_constant, b.units.gravitational_constant);
    EXPECT_EQ(a.units.length, b.units.length);
    EXPECT_EQ(a.units.time_s, b.units.time_s);
    EXPECT_EQ(a.suggested_softening, b.suggested_softening);
    EXPECT_EQ(a.suggested_time_step, b.suggested_time_step);
    EXPECT_EQ(a.attributes, b.attributes);
}

std::string error_of(const std::string& text) {
    try {
        read_csv(text, "in.csv");
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Csv, RoundTripIsExact) {
    expect_same(awkward(), read_csv(encode_csv(awkward()), "memory"));
}

TEST(Csv, ReadsWhatPeopleWrite) {
    const Snapshot s = read_csv("z, x ,y\r\n3,+1.5,2e0\r\n\r\n# remark\n6,4,5", "in.csv");
    ASSERT_EQ(s.size(), 2u);
    EXPECT_EQ(s.x, (std::vector<double>{1.5, 4}));
    EXPECT_EQ(s.z, (std::vector<double>{3, 6}));
    EXPECT_EQ(s.id, (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ(s.mass, (std::vector<double>{0, 0}));
}

TEST(Csv, ErrorsNameLineAndField) {
    EXPECT_NE(error_of("x,y,z\n1,2,3\n1,2\n").find("in.csv:3: wrong number of fields; expected 3; found 2"),
              std::string::npos);
    EXPECT_NE(error_of("x,y,z\n1,2,3\n1,oops,3\n").find("in.csv:3"), std::string::npos);
    EXPECT_NE(error_of("x,y,z\n1,2,3\n1,oops,3\n").find("'oops'"), std::string::npos);
    EXPECT_NE(error_of("x,y,z\n1,nan,3\n").find("finite"), std::string::npos);
    EXPECT_NE(error_of("x,y,speed\n1,2,3\n").find("'speed'"), std::string::npos);
    EXPECT_NE(error_of("x,y,vx\n1,2,3\n").find("x, y and z"), std::string::npos);
    EXPECT_NE(error_of("x,y,z,x\n1,2,3,4\n").find("twice"), std::string::npos);
    EXPECT_NE(error_of("").find("no header line"), std::string::npos);
    EXPECT_NE(error_of("# time = soon\nx,y,z\n").find("'soon'"), std::string::npos);
}

TEST(Hdf5, RoundTripIsExactFromFileAndMemory) {
    if (!have_hdf5()) {
        GTEST_SKIP() << "skipped: built without HDF5";
    }
    const ScratchFolder folder;
    write_gadget_hdf5(awkward(), folder.file("a.hdf5"));
    EXPECT_EQ(folder.entries(), 1u);
    expect_same(awkward(), read_gadget_hdf5(folder.file("a.hdf5")));
    const std::string image = slurp(folder.file("a.hdf5"));
    expect_same(awkward(), read_gadget_hdf5(std::as_bytes(std::span(image)), "memory"));
}

TEST(Csv, TruncatedFilesAreErrors) {
    Snapshot s = awkward();
    s.names.clear();
    const std::string text = encode_csv(s);
    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_THROW(read_csv(text.substr(0, length), "cut"), Error) << length;
    }
    EXPECT_EQ(read_csv(text.substr(text.find('\n') + 1, text.size() - text.find('\n') - 2), "no promise").size(), s.size());
}

TEST(Hdf5, TruncatedFilesAreErrors) {
    if (!have_hdf5()) {
        GTEST_SKIP() << "skipped: built without HDF5";
    }
    const ScratchFolder folder;
    write_gadget_hdf5(awkward(), folder.file("a.hdf5"));
    const std::string image = slurp(folder.file("a.hdf5"));
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{8}, std::size_t{100}, image.size() / 2, image.size() - 1}) {
        const auto bytes = std::as_bytes(std::span(image).first(length));
        EXPECT_THROW(read_gadget_hdf5(bytes, "cut"), Error) << length;
    }
    EXPECT_THROW(read_gadget_hdf5(folder.file("missing.hdf5")), Error);
}

TEST(Rehearsal, TellsDeathFromRefusal) {
    EXPECT_TRUE(survives_rehearsal([] {}));
    EXPECT_TRUE(survives_rehearsal([] { throw Error({"no", "", "", "", ""}); }));
    EXPECT_FALSE(survives_rehearsal([] { std::raise(SIGSEGV); }));
    EXPECT_FALSE(survives_rehearsal([] { std::abort(); }));
}

TEST(Formats, ContentDecidesThenExtension) {
    const ScratchFolder folder;
    Snapshot s = awkward();
    s.y.assign(12, 0.0);
    s.z.assign(12, 0.0);
    for (const char* name : {"a.tipsy", "a.std", "a.csv"}) {
        write_snapshot_file(s, folder.file(name));
        std::filesystem::rename(folder.file(name), folder.file("unnamed"));
        EXPECT_EQ(read_snapshot_file(folder.file("unnamed")).size(), s.size()) << name;
    }
    EXPECT_EQ(format_of_extension("dir.csv/file"), std::nullopt);
    EXPECT_EQ(format_of_extension("x.HDF5"), Format::GadgetHdf5);
    EXPECT_THROW(write_snapshot_file(s, folder.file("a.xyz")), Error);
    EXPECT_THROW(parse_format("fits"), Error);
    std::ofstream(folder.file("junk")) << "no snapshot at all";
    EXPECT_THROW(read_snapshot_file(folder.file("junk")), Error);
    EXPECT_THROW(read_snapshot_file(folder.file("missing")), Error);
    EXPECT_THROW(read_snapshot_file(folder.file(".")), Error);
}

TEST(Formats, SaysWhatTipsyLoses) {
    const ScratchFolder folder;
    Snapshot s = awkward();
    s.y.assign(12, 0.0);
    s.z.assign(12, 0.0);
    EXPECT_EQ(write_snapshot_file(s, folder.file("a.tipsy")).size(), 4u);
    EXPECT_TRUE(write_snapshot_file(s, folder.file("a.csv")).empty());
}

TEST(Formats, VtkFilesHoldWhatTheyAnnounce) {
    const ScratchFolder folder;
    Snapshot s = awkward();
    write_snapshot_file(s, folder.file("a.vtu"));
    write_snapshot_file(s, folder.file("a.vtk"));
    const std::string vtu = slurp(folder.file("a.vtu"));
    const auto start = vtu.find("<AppendedData encoding=\"raw\">\n_") + 31;
    const auto tag = vtu.find("Name=\"position\"");
    const auto offset = std::stoul(vtu.substr(vtu.find("offset=\"", tag) + 8));
    std::uint64_t bytes = 0;
    double first = 0.0;
    std::memcpy(&bytes, vtu.data() + start + offset, 8);
    std::memcpy(&first, vtu.data() + start + offset + 8, 8);
    EXPECT_EQ(bytes, 12u * 24u);
    EXPECT_EQ(first, s.x[0]);
    const std::string vtk = slurp(folder.file("a.vtk"));
    EXPECT_NE(vtk.find("POINTS 12 double\n"), std::string::npos);
    EXPECT_NE(vtk.find("\nVERTICES 12 24\n"), std::string::npos);
    EXPECT_THROW(read_snapshot_file(folder.file("a.vtu")), Error);
}

// A disk that fills up, imitated by the limit on file sizes.
class SmallDisk {
  public:
    explicit SmallDisk(rlim_t bytes) {
        old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &old_);
        const rlimit small{bytes, old_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallDisk() {
        ::setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, old_handler_);
    }

  private:
    rlimit old_{};
    void (*old_handler_)(int) = nullptr;
};

TEST(AtomicWrites, AFullDiskLeavesTheOldFileAndNoDebris) {
    for (const char* name : {"a.csv", "a.tipsy", "a.hdf5"}) {
        if (std::string(name) == "a.hdf5" && !have_hdf5()) {
            continue;
        }
        const ScratchFolder folder;
        Snapshot s;
        s.resize(10);
        write_snapshot_file(s, folder.file(name));
        const std::string before = slurp(folder.file(name));
        s.resize(100000);
        {
            const SmallDisk disk(100000);
            EXPECT_THROW(write_snapshot_file(s, folder.file(name)), Error) << name;
        }
        EXPECT_EQ(slurp(folder.file(name)), before) << name;
        EXPECT_EQ(folder.entries(), 1u) << name;
    }
}

TEST(AtomicWrites, AMissingFolderIsNamed) {
    Snapshot s;
    try {
        write_snapshot_file(s, "/nonexistent-folder/a.csv");
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("/nonexistent-folder/a.csv"), std::string::npos);
    }
}

TEST(Snapshots, ValidateNamesTheFirstBadParticle) {
    Snapshot s = awkward();
    s.vy[7] = std::nan("");
    try {
        s.validate("there");
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("'vy' of particle 7"), std::string::npos) << error.what();
    }
    s = awkward();
    s.component[3] = 9;
    EXPECT_THROW(s.validate("there"), Error);
}

} // namespace
} // namespace graft::cli::test
