// SPDX-License-Identifier: BSD-3-Clause
// What the command does to files: inputs survive, what is no file is refused at once, killed programs leave
// nothing for ever, one writer at a time.
#include "program.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace command_test {

namespace {

class Files : public Program {
  protected:
    void SetUp() override {
        Program::SetUp();
        ok("ic plummer --n 50 --seed 3 -o p.hdf5");
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    /// Fails, soon, and says every one of these words.
    void refused(const std::string& words, const std::vector<std::string>& texts,
                 const std::string& environment = "") const {
        const Outcome outcome = graft(words, environment + " timeout -k 5 20");
        EXPECT_EQ(outcome.status, 1) << words << "\n" << outcome.out << outcome.err;
        for (const std::string& text : texts) {
            EXPECT_NE(outcome.err.find(text), std::string::npos)
                << "'" << text << "' not in: " << outcome.err;
        }
    }
    void write_deck(const std::string& input, const std::string& output) const {
        write("deck.yaml", "softening: {kind: plummer, length: 0.1}\nrun: {input: " + input +
                               ", output: " + output + ", time_step: 0.01, steps: 2}\n");
    }
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                                      std::filesystem::directory_iterator{}));
    }
};

} // namespace

TEST_F(Files, ARunDoesNotOverwriteItsInput) {
    const std::string whole = read("p.hdf5");
    std::filesystem::create_directory(path("x"));
    std::filesystem::rename(path("p.hdf5"), path("a_000002.hdf5"));
    std::filesystem::create_hard_link(path("a_000002.hdf5"), path("b_000000.hdf5"));
    std::filesystem::create_symlink("a_000002.hdf5", path("s.hdf5"));
    const std::pair<const char*, const char*> cases[] = {
        {"a_000002.hdf5", "a"}, {"x/../a_000002.hdf5", "./a.hdf5"}, {"s.hdf5", "a"}, {"a_000002.hdf5", "b"}};
    for (const auto& [input, output] : cases) {
        write_deck(input, output);
        refused("run deck.yaml", {"would overwrite what it reads", input, "another run.output"});
        EXPECT_EQ(read("a_000002.hdf5"), whole);
        EXPECT_FALSE(exists("a_energy.csv"));
    }
    write_deck("a_000002.hdf5", "a"); // a run that ends before that name comes
    ok("run deck.yaml --quiet --set run.steps=1");
    EXPECT_EQ(read("a_000002.hdf5"), whole);
}

TEST_F(Files, ADeckIsNoOutput) {
    write_deck("p.hdf5", "a");
    std::filesystem::rename(path("deck.yaml"), path("a.restart"));
    refused("run a.restart", {"would overwrite what it reads", "a.restart"});
}

TEST_F(Files, ConvertDoesNotOverwriteItsInput) {
    const std::string whole = read("p.hdf5");
    std::filesystem::create_hard_link(path("p.hdf5"), path("hard.csv"));
    std::filesystem::create_symlink("p.hdf5", path("soft.csv"));
    for (const char* out : {"p.hdf5", "./p.hdf5", "hard.csv", "soft.csv"}) {
        refused(std::string("convert p.hdf5 ") + out, {"the output is an input"});
        EXPECT_EQ(read("p.hdf5"), whole);
    }
}

TEST_F(Files, WhatIsNotKnownIsNamedBeforeItIsDropped) {
    ok("convert p.hdf5 p.tipsy");
    std::string tipsy = read("p.tipsy");
    ASSERT_GE(tipsy.size(), 32 + 9 * sizeof(float));
    const float phi = -1.5F;
    std::memcpy(tipsy.data() + 32 + 8 * 4, &phi, sizeof phi); // the last of a dark particle's nine numbers
    write("p.tipsy", tipsy);
    EXPECT_NE(graft("convert p.tipsy q.csv").err.find("halo: phi"), std::string::npos);
    EXPECT_NE(graft("convert p.tipsy q.csv --json").out.find("halo: phi"), std::string::npos);
    write_deck("p.tipsy", "a");
    EXPECT_NE(graft("run deck.yaml --quiet").err.find("halo: phi"), std::string::npos);
}

/// Attributes of the header, and lines of Graft's own metadata; before the output, which cannot be written here.
TEST_F(Files, WhatAnHdf5FileLosesIsNamedBeforeItIsDropped) {
    std::string hdf5 = read("p.hdf5");
    for (const auto& [old, other] : {std::pair<std::string, std::string>{"HubbleParam", "SweetFactor"},
                                     {"suggested_softening = ", "suggested_softening ~ "},
                                     {"suggested_time_step = ", "suggested_time_step = x"}}) {
        const std::size_t at = hdf5.find(old);
        ASSERT_NE(at, std::string::npos) << old;
        hdf5.replace(at, other.size(), other);
    }
    write("p.hdf5", hdf5);
    const std::string named[] = {"Header/SweetFactor", "Graft/Metadata: suggested_softening ~ ",
                                 "Graft/Metadata: suggested_time_step = x"};
    const Outcome failed = graft("convert p.hdf5 no/such/folder.csv"), converted = graft("convert p.hdf5 q.csv --json");
    EXPECT_EQ(failed.status, 1);
    EXPECT_EQ(converted.status, 0) << converted.err;
    write_deck("p.hdf5", "a");
    const Outcome ran = graft("run deck.yaml --quiet");
    for (const std::string& name : named) {
        for (const std::string& text : {failed.err, converted.err, converted.out, ran.err}) {
            EXPECT_NE(text.find(name), std::string::npos) << name << " not in: " << text;
        }
    }
    ok("ic plummer --n 50 --seed 3 -o p.hdf5");
    EXPECT_EQ(graft("convert p.hdf5 q.csv").err, "");
}

/// What another program put into Graft's own group.
TEST_F(Files, AnUnknownAttributeOfGraftsGroupIsNamed) {
    std::string hdf5 = read("p.hdf5");
    const std::string own = "Metadata", other = "Remarks_";
    const std::size_t at = hdf5.find(own);
    ASSERT_NE(at, std::string::npos);
    write("p.hdf5", hdf5.replace(at, other.size(), other));
    EXPECT_NE(graft("convert p.hdf5 q.csv").err.find("Graft/Remarks_ is not known here"), std::string::npos);
}

TEST_F(Files, WhatIsNoFileIsRefusedAtOnce) {
    const std::string deck = "softening: {kind: plummer, length: 0.1}\n";
    write("good.yaml", deck);
    for (const char* name : {"pipe", "pipe.hdf5", "pipe.csv", "pipe.tipsy", "b.restart"}) {
        ASSERT_EQ(mkfifo(path(name).c_str(), 0600), 0);
    }
    for (const char* name : {"folder.hdf5", "folder.csv", "c_energy.csv"}) {
        std::filesystem::create_directory(path(name));
    }
    const std::string pipe = "found a pipe", folder = "found a folder";
    refused("deck --check pipe", {"pipe", "deck", pipe});
    refused("deck --check folder.csv", {"folder.csv", folder});
    refused("deck --check /dev/null", {"/dev/null", "found a device"});
    for (const char* name : {"pipe", "pipe.hdf5", "pipe.csv", "pipe.tipsy"}) {
        refused(std::string("convert ") + name + " out.csv", {name, "not a regular file", pipe});
        refused(std::string("convert p.hdf5 --to csv ") + name, {name, "not a regular file", pipe});
        write_deck(name, "a");
        refused("run deck.yaml", {name, "is a pipe"});
    }
    refused("convert folder.hdf5 out.csv", {"folder.hdf5", folder});
    refused("convert p.hdf5 folder.csv", {"folder.csv", folder});
    // Not as an output: root would exchange the device where the check is broken.
    refused("convert /dev/null out.csv", {"/dev/null", "found a device"});
    write_deck("p.hdf5", "b");
    refused("run deck.yaml --restart", {"b.restart", pipe});
    write_deck("p.hdf5", "c");
    refused("run deck.yaml", {"c_energy.csv", folder});
    write_deck("p.hdf5", "d");
    ok("run deck.yaml --quiet");
    std::filesystem::remove(path("d_energy.csv"));
    ASSERT_EQ(mkfifo(path("d_energy.csv").c_str(), 0600), 0);
    refused("run deck.yaml --restart --set run.steps=4", {"d_energy.csv", pipe});
    for (const char* name : {"./pipe", "./folder.csv"}) {
        refused("info", {name, "no regular file"}, std::string("GRAFT_LIBRARY=") + name);
    }
    refused("check --n 100", {"pipe", "machine file", pipe}, "GRAFT_MACHINE=pipe");
}

TEST_F(Files, WhatAKilledProgramLeftIsRemoved) {
    const auto leave = [&](const std::string& name) { write(name, "half"); };
    leave("a_000007.hdf5.tmp-4000000-3");
    leave("a.restart.tmp-4000000-4");
    leave("a_energy.csv.tmp-1-0"); // the process number is another one's now
    leave("a_000001.hdf5.tmp-1-1");
    leave("a_000001.hdf5.tmp-kept");
    const int writer = open(path("a_000001.hdf5.tmp-1-1").c_str(), O_RDWR); // who lives has a lock
    ASSERT_EQ(flock(writer, LOCK_EX), 0);
    write_deck("p.hdf5", "a");
    const Outcome outcome = graft("run deck.yaml --quiet");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("a_000007.hdf5.tmp-4000000-3: left by"), std::string::npos) << outcome.err;
    EXPECT_FALSE(exists("a_000007.hdf5.tmp-4000000-3") || exists("a.restart.tmp-4000000-4") ||
                 exists("a_energy.csv.tmp-1-0"));
    EXPECT_TRUE(exists("a_000001.hdf5.tmp-1-1") && exists("a_000001.hdf5.tmp-kept"));
    close(writer);
    leave("q.csv.tmp-77-0");
    ok("convert p.hdf5 q.csv");
    EXPECT_FALSE(exists("q.csv.tmp-77-0"));
}

TEST_F(Files, OneRunAtATimeWritesAnOutput) {
    write("a.lock", "process 12 on elsewhere\n");
    const int other = open(path("a.lock").c_str(), O_RDWR);
    ASSERT_EQ(flock(other, LOCK_EX), 0);
    write_deck("p.hdf5", "a");
    refused("run deck.yaml", {"another program is writing this output", "a.lock", "process 12 on elsewhere"});
    EXPECT_FALSE(exists("a_000000.hdf5"));
    close(other); // as when it was killed: the file stays, the lock goes
    ok("run deck.yaml --quiet");
    EXPECT_FALSE(exists("a.lock"));
}

TEST_F(Files, NoSpaceIsSaidAndNothingStays) {
    const std::size_t before = entries();
    refused("ic plummer --n 20000 -o big.hdf5", {"no space", "big.hdf5"}, "ulimit -f 16;");
    EXPECT_LE(entries(), before + 2); // out.txt, err.txt
    EXPECT_FALSE(exists("big.hdf5"));
    const std::string full =
        "cd '" + folder_.string() + "' && '" GRAFT_COMMAND "' --help >/dev/full 2>err.txt";
    const int raw = std::system(full.c_str());
    EXPECT_EQ(WEXITSTATUS(raw), 1) << read("err.txt");
}

/// It grows line by line: what is whole stays, and a restart goes on with the lines of a run that never stopped.
TEST_F(Files, NoSpaceForTheEnergyLogIsSaidAndARestartGoesOn) {
    write_deck("p.hdf5", "a");
    const std::string words = "run deck.yaml --quiet --set run.steps=1000 --set run.snapshot_every=100 --set method=direct";
    refused(words, {"cannot write the energy log, no space", "a_energy.csv", "ulimit -f"}, "ulimit -f 120;");
    const std::string cut = read("a_energy.csv");
    EXPECT_GT(cut.size(), 50000u);
    for (const char* rest : {"", "12"}) { // the last line, cut within its first number, is no line
        write("a_energy.csv", cut.substr(0, cut.rfind('\n') + 1) + rest);
        ok(words + " --restart");
        ok(words + " --set run.output=b");
        EXPECT_EQ(read("a_energy.csv"), read("b_energy.csv")) << "'" << rest << "'";
        ok(words + " --set run.steps=200"); // a restart file within the log again
    }
}

TEST_F(Files, AMachineFileIsWholeOrNotThere) {
    if (!GRAFT_HAVE_STUDY) {
        GTEST_SKIP() << "no studies in this build";
    }
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    std::filesystem::create_directory(path("folder"));
    refused("model calibrate --out pipe", {"pipe", "not a regular file", "found a pipe"});
    refused("model calibrate --out folder", {"folder", "found a folder"});
    refused("model calibrate --out no/such/machine.yaml", {"no/such/machine.yaml", "the folder exists"}); // before it measures
    write("machine.yaml", "old\n");
    const std::size_t before = entries();
    const Outcome full = graft("model calibrate --backend cpu --threads 1 --repetitions 1 --out machine.yaml", "ulimit -f 4;");
    EXPECT_EQ(full.status, 1);
    EXPECT_NE(full.err.find("no space"), std::string::npos) << full.err;
    EXPECT_EQ(read("machine.yaml"), "old\n");
    EXPECT_EQ(entries(), before);
}

/// The study library beside libgraft.
TEST_F(Files, ALibraryOfStudiesThatIsAPipeIsRefused) {
    if (!GRAFT_HAVE_STUDY) {
        GTEST_SKIP() << "no studies in this build";
    }
    std::filesystem::create_symlink(GRAFT_LIBRARY_FILE, path("libgraft.so.1"));
    ASSERT_EQ(mkfifo(path("libgraft_study.so").c_str(), 0600), 0);
    refused("model schema --library ./libgraft.so.1",
            {"no study library", "./libgraft_study.so", "not a regular file", "a pipe"});
}

TEST_F(Files, OneSeedIsTheSameBytes) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    ok("ic plummer --n 50 --seed 3 -o q.hdf5");
    EXPECT_EQ(read("p.hdf5"), read("q.hdf5"));
}

TEST_F(Files, ATipsyTimeThatIsNoNumberIsRefused) {
    ok("convert p.hdf5 p.tipsy");
    std::string tipsy = read("p.tipsy");
    for (const double time :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        std::memcpy(tipsy.data(), &time, sizeof time);
        write("p.tipsy", tipsy);
        refused("convert p.tipsy q.csv", {"p.tipsy", "the time is not finite"});
    }
}

TEST_F(Files, AByteOrderMarkIsReadOver) {
    write("bom.csv", "\xEF\xBB\xBFx,y,z,mass\n1,2,3,4\n");
    ok("convert bom.csv q.csv");
    EXPECT_NE(read("q.csv").find("\n0,halo,4,1,2,3,"), std::string::npos) << read("q.csv");
}

TEST_F(Files, ThreadsThatCannotBeHadAreRefused) {
    refused("check --n 1000", {"1000000 threads", "OMP_NUM_THREADS"}, "OMP_NUM_THREADS=1000000");
    refused("check --n 1000", {"5000 threads", "at most 4096"}, "OMP_NUM_THREADS=5000");
    refused("check --n 1000", {"stacks of 20 KiB", "64 KiB"}, "OMP_NUM_THREADS=2 OMP_STACKSIZE=20k");
    const Outcome least = graft("check --n 1000", "OMP_NUM_THREADS=2 OMP_STACKSIZE=64k");
    EXPECT_EQ(least.status, 0) << least.err;
}

} // namespace command_test
