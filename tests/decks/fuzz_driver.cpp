// SPDX-License-Identifier: BSD-3-Clause
// A small mutation loop for compilers without libFuzzer: fuzz_driver SECONDS FOLDER... starts from the files
// of the folders, mutates (bytes, words of the deck language, splices, repetitions) and calls the harness.
// The seed is fixed, so that a failure comes again; the input that is being tried stands in fuzz_last_input
// when the program dies.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

const char* const words[] = {"mac:",
                             "theta",
                             "tree.leaf: ",
                             "units: {",
                             "host:",
                             "[",
                             "]",
                             "{",
                             "}",
                             ": ",
                             "\n",
                             "- ",
                             "? ",
                             "&a ",
                             "*a",
                             "<<: ",
                             "|",
                             ">",
                             "\"",
                             "'",
                             "#",
                             "---\n",
                             "...\n",
                             "!!str ",
                             "%YAML 9.9\n",
                             "~",
                             "1e999",
                             "-1",
                             "1d-3",
                             "\t",
                             "\xef\xbb\xbf",
                             "\xff\xfe",
                             "\\x",
                             "\\U0010ffff",
                             "order: ",
                             "run.input: /",
                             "1e10Msun"};

std::vector<std::string> read_seeds(int count, char** folders) {
    std::vector<std::string> seeds;
    for (int i = 0; i < count; ++i)
        for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
            std::ifstream file(entry.path(), std::ios::binary);
            seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        }
    return seeds;
}

class Mutator {
  public:
    explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

    std::string next() {
        std::string text = seeds_[below(seeds_.size())];
        for (size_t i = 1 + below(6); i > 0; --i)
            mutate(text);
        if (text.size() > 4096)
            text.resize(4096);
        return text;
    }

  private:
    size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

    void mutate(std::string& text) {
        const size_t at = below(text.size() + 1);
        switch (below(6)) {
        case 0:
            text.insert(at, words[below(std::size(words))]);
            break;
        case 1:
            text.insert(at, 1, static_cast<char>(below(256)));
            break;
        case 2:
            text.erase(at, 1 + below(8));
            break;
        case 3:
            if (at < text.size())
                text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
            break;
        case 4: { // a piece of another deck
            const std::string& other = seeds_[below(seeds_.size())];
            text.insert(at, other.substr(below(other.size() + 1), below(64)));
            break;
        }
        default: { // the same piece many times
            const std::string piece = text.substr(at, 1 + below(8));
            for (size_t i = below(64); i > 0; --i)
                text.insert(at, piece);
        }
        }
    }

    const std::vector<std::string>& seeds_;
    std::mt19937_64 random_{20100713};
};

} // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: fuzz_driver SECONDS FOLDER...\n");
        return 2;
    }
    const std::vector<std::string> seeds = read_seeds(argc - 2, argv + 2);
    if (seeds.empty())
        return 2;
    Mutator mutator(seeds);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::stod(argv[1]));
    long long runs = 0;
    for (; std::chrono::steady_clock::now() < end; ++runs) {
        const std::string text = mutator.next();
        std::ofstream("fuzz_last_input", std::ios::binary) << text;
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    }
    std::printf("%lld inputs, all read or refused properly\n", runs);
    return runs > 100 ? 0 : 1;
}
