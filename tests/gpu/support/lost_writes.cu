// SPDX-License-Identifier: BSD-3-Clause
// What initcheck reports of a program without a fault (docs/lab/gpu/sanitizers.md): threads with a stream
// each allocate memory, write all of it (a kernel, a copy, a memset) and read it in a kernel.
//
// usage: compute-sanitizer --tool initcheck lost_writes THREADS TURNS [in_turns]
//
// in_turns: one thread at a time. Ends with 0 where all sums are right.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

void check(cudaError_t error) {
    if (error == cudaSuccess)
        return;
    std::printf("%s\n", cudaGetErrorString(error));
    std::exit(1);
}

__global__ void write_values(double* to, int n) {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
        to[i] = i;
}

__global__ void add_values(const double* from, int n, double* sum) {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
        atomicAdd(sum, from[i]);
}

enum Way { by_kernel, by_copy, by_memset, ways };

/// The sum of n new values, which are 0, 1, ... n - 1, or all 0.
double sum_of(int n, int way, const double* values, double* sum, cudaStream_t stream,
              std::vector<double*>& kept) {
    const size_t bytes = static_cast<size_t>(n) * sizeof(double);
    double* made = nullptr;
    check(cudaMalloc(&made, bytes));
    kept.push_back(made);
    if (way == by_kernel)
        write_values<<<1, 128, 0, stream>>>(made, n);
    else if (way == by_copy)
        check(cudaMemcpyAsync(made, values, bytes, cudaMemcpyHostToDevice, stream));
    else
        check(cudaMemsetAsync(made, 0, bytes, stream));
    check(cudaMemsetAsync(sum, 0, sizeof(double), stream));
    add_values<<<1, 128, 0, stream>>>(made, n, sum);
    double found = -1;
    check(cudaMemcpyAsync(&found, sum, sizeof found, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    return found;
}

/// Wrong sums of one thread.
int work(unsigned seed, int turns, std::mutex* one_at_a_time) {
    constexpr int most = 1000;
    std::mt19937 random(seed);
    std::vector<double> values(most);
    for (int i = 0; i < most; ++i)
        values[static_cast<size_t>(i)] = i;
    cudaStream_t stream = nullptr;
    double* sum = nullptr;
    std::vector<double*> kept;
    int wrong = 0;
    for (int turn = -1; turn <= turns; ++turn) {
        std::unique_lock<std::mutex> mine;
        if (one_at_a_time != nullptr)
            mine = std::unique_lock<std::mutex>(*one_at_a_time);
        if (turn == -1) {
            check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            check(cudaMalloc(&sum, sizeof(double)));
        } else if (turn < turns) {
            const int n = 1 + static_cast<int>(random() % most), way = static_cast<int>(random() % ways);
            const double expected = way == by_memset ? 0 : 0.5 * n * (n - 1);
            wrong += sum_of(n, way, values.data(), sum, stream, kept) != expected;
        }
        for (double* one : turn == turns ? kept : std::vector<double*>())
            check(cudaFree(one));
    }
    return wrong;
}

} // namespace

int main(int count, char** words) {
    const int threads = count > 1 ? std::atoi(words[1]) : 4, turns = count > 2 ? std::atoi(words[2]) : 60;
    const bool in_turns = count > 3 && std::strcmp(words[3], "in_turns") == 0;
    std::mutex turn;
    std::vector<int> wrong(static_cast<size_t>(threads));
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            wrong[static_cast<size_t>(t)] = work(static_cast<unsigned>(t), turns, in_turns ? &turn : nullptr);
        });
    int sum = 0;
    for (int t = 0; t < threads; ++t) {
        all[static_cast<size_t>(t)].join();
        sum += wrong[static_cast<size_t>(t)];
    }
    std::printf("%d threads, %d turns: %d wrong sums\n", threads, turns, sum);
    return sum == 0 ? 0 : 1;
}
