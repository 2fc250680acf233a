#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything about the GPU on one machine with CUDA 12 or later: builds, tests, sanitizers, benchmarks, the papers'
# studies, several GPUs; one table and JSON. Stages go on when one fails; the exit status tells.
set -uo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

usage() {
    cat <<'TEXT'
usage: tests/gpu/run.sh [options]          exit status 0 when all of what was asked for passed

  (no option)        build and tests
  --sanitize         also compute-sanitizer: memcheck, racecheck, initcheck, synccheck over the test programs, small inputs
  --bench            also short benchmarks and studies of tests/gpu/bench.txt, and several GPUs if there are
  --bench-full       these at full size, up to 2^30 particles (60 GB of host memory)
  --only STAGES      these alone: build, tests, sanitize, bench, papers, ranks (with commas between)
  --limit SECONDS    for all but the build: what does not fit is skipped, and said to be (180; with --sanitize 600, with
                     --bench-full 600)
  --resume FOLDER    sanitizers go on where the run whose --out was FOLDER was cut off, with the same build
  --match PATTERN    test programs and benchmarks whose name has it, such as 'pairs|steps-1e'

  --build FOLDER     build folder (build/gpu)
  --no-build         use what BUILD/bin and BUILD/lib hold; they may have been copied there from another machine
  --out FOLDER       where logs, results.json and bench.jsonl go (BUILD/results)
  --debs FOLDER      dependencies that are not installed, as .deb files, or unpacked (FOLDER/usr/...); for machines
                     without root or network. Packages: see packages.txt
  --arch LIST        CMAKE_CUDA_ARCHITECTURES (that of the first device, else the project's own)
  --jobs N           compile jobs (number of cores)
  -DNAME=VALUE       for CMake (where gfortran or HDF5 is missing, they are left out without being asked)
TEXT
}

build="" out="" debs="" arch="" jobs=$(nproc) resume="" no_build=no sanitize=no bench=no only="" match="" limit="" definitions=()
while [ $# -gt 0 ]; do
    case "$1" in
    --build | --out | --debs | --arch | --jobs | --only | --match | --limit | --resume)
        [ $# -gt 1 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
        name=${1#--}; printf -v "$name" '%s' "$2"; shift ;;
    --no-build) no_build=yes ;;
    --sanitize) sanitize=yes ;;
    --bench) [ $bench = full ] || bench=short ;;
    --bench-full) bench=full ;;
    -D*) definitions+=("$1") ;;
    -h | --help) usage; exit 0 ;;
    *) echo "run.sh: '$1' is not understood" >&2; usage >&2; exit 2 ;;
    esac
    shift
done
stages=build,tests
[ $bench = no ] || stages+=,bench,papers,ranks
[ $sanitize = no ] || stages+=,sanitize
for stage in ${only//,/ }; do
    [[ $stage =~ ^(build|tests|sanitize|bench|papers|ranks)$ ]] ||
        { echo "run.sh: --only $stage: expected build, tests, sanitize, bench, papers or ranks" >&2; exit 2; }
done
stages=${only:-$stages}
[ -n "$limit" ] || { limit=180; [[ ,$stages, == *,sanitize,* ]] && limit=600; [ $bench = full ] && limit=600; }
[[ $limit =~ ^[0-9]+$ ]] || { echo "run.sh: --limit $limit: expected whole seconds" >&2; exit 2; }
wants() { [[ ,$stages, == *,$1,* ]]; }
build=${build:-$source_folder/build/gpu}
out=${out:-$build/results}
mkdir -p "$build" "$out" || exit 2
build=$(cd "$build" && pwd) out=$(cd "$out" && pwd)
: >"$out/steps.txt"
cuda_release=""

# One line of the final table: stage, name, status, seconds, remark.
step() { printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "${5:-}" >>"$out/steps.txt"; }

# Runs a command into a log of its own, and notes how it went; 77 is "skipped".
run_step() { # stage name command...
    local stage=$1 name=$2 start=$SECONDS status=0; shift 2
    "$@" >"$out/$name.log" 2>&1 || status=$?
    local lines; lines=$(grep -aE '^\[  (PASSED|SKIPPED|FAILED) *\] [0-9]+ test|(ERROR|RACECHECK) SUMMARY' "$out/$name.log" |
        sed 's/^\[ *//; s/ *\]//; s/^=* *//; s/, listed below://; s/\.$//' | tr '\n' ';')
    case $status in
    0) step "$stage" "$name" ok $((SECONDS - start)) "$lines" ;;
    77) step "$stage" "$name" skipped $((SECONDS - start)) "$(tail -n 1 "$out/$name.log" | tr '\t' ' ')" ;;
    *) step "$stage" "$name" failed $((SECONDS - start)) "status $status, see $out/$name.log;$lines"
       { echo "--- $name, status $status:"; tail -n 15 "$out/$name.log"; } >&2 ;;
    esac
    return $status
}

# The same, at most so many seconds and no longer than --limit leaves; the last child process goes with it.
run_limited() { # seconds stage name command...
    local seconds=$1 stage=$2 name=$3 left=$((deadline - SECONDS)); shift 3
    [ $left -ge 3 ] || { step "$stage" "$name" skipped 0 "no time left of --limit $limit"; return 0; }
    run_step "$stage" "$name" timeout -k 2 $((seconds < left ? seconds : left)) "$@"
}

find_cuda() {
    local place
    device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
    devices=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | grep -c .)
    if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then # which nvidia-smi does not look at
        local seen; seen=$(tr , '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .)
        devices=$((seen < devices ? seen : devices))
        [ "$devices" -gt 0 ] || device=""
    fi
    for place in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
        [ -n "$place" ] && [ -x "$place" ] && { nvcc=$place; break; }
    done
    if [ -n "${nvcc:-}" ]; then
        cuda_release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
        export CUDACXX=$nvcc PATH="$(dirname "$nvcc"):$PATH"
    fi
    echo "CUDA ${cuda_release:-not found}; devices: ${devices:-0}${device:+ x $device}$([ -n "$device" ] || echo ' (what needs one is skipped)')"
}

# Makes cmake, pkg-config and the dynamic linker look into a folder of unpacked packages first.
use_debs() {
    [ -n "$debs" ] || return 0
    local file root triplet=x86_64-linux-gnu
    debs=$(cd "$debs" && pwd) || exit 2
    root=$debs
    if ls "$debs"/*.deb >/dev/null 2>&1; then # the folder of the packages stays as it is
        root=$build/debs
        mkdir -p "$root"
        for file in "$debs"/*.deb; do
            [ -e "$root/.$(basename "$file")" ] || { dpkg-deb -x "$file" "$root" && : >"$root/.$(basename "$file")"; }
        done
    fi
    command -v gcc >/dev/null && triplet=$(gcc -dumpmachine)
    export CMAKE_PREFIX_PATH="$root/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
    export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_PATH="$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig"
    export LD_LIBRARY_PATH="$root/usr/lib/$triplet${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export PATH="$PATH:$root/usr/bin"
}

# What CMake could not find, as packages.
say_missing() {
    local pair
    for pair in 'yaml-cpp|libyaml-cpp-dev' 'libhwy|libhwy-dev' 'GTest|libgtest-dev' 'Boost|libboost-program-options-dev' \
        'PNG|libpng-dev (and zlib1g-dev)' 'HDF5|libhdf5-dev' 'PkgConfig|pkg-config' 'Fortran|gfortran' 'Python3|python3' \
        'OpenMP|libgomp (g++)'; do
        grep -E -A3 'CMake Error|not found|Could NOT find|No CMAKE_' "$out/configure.log" | grep -q -- "${pair%%|*}" &&
            echo "run.sh: missing: ${pair%%|*}; install ${pair#*|}, or give the packages with --debs" >&2
    done
}

run_build() {
    local generator=() launcher=() given="${definitions[*]}"
    [ -n "$cuda_release" ] && [ "${cuda_release%%.*}" -ge 12 ] || {
        step build configure failed 0 "no nvcc 12 or later; install the CUDA Toolkit, or set CUDACXX"; return; }
    for tool in cmake g++ pkg-config python3; do
        command -v $tool >/dev/null || { step build configure failed 0 "no $tool; install it"; return; }
    done
    command -v ninja >/dev/null && generator=(-G Ninja)
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
        -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    [[ $given == *GRAFT_WITH_FORTRAN* ]] || command -v gfortran >/dev/null || definitions+=(-DGRAFT_WITH_FORTRAN=OFF)
    [[ $given == *GRAFT_WITH_HDF5* ]] || command -v h5cc >/dev/null || definitions+=(-DGRAFT_WITH_HDF5=OFF)
    if [ -z "$arch" ]; then # of the first device: "9.0" -> 90
        arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d . | grep -E '^[0-9]+$')
    fi
    run_step build configure cmake -S "$source_folder" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DGRAFT_WITH_CUDA=ON \
        -DGRAFT_WITH_TESTS=ON -DGRAFT_TEST_HOOKS=ON \
        ${arch:+-DCMAKE_CUDA_ARCHITECTURES=$arch} "${launcher[@]}" "${definitions[@]}" || { say_missing; return; }
    run_step build build cmake --build "$build" --target gpu_all -j "$jobs"
}

programs() { find "$build/bin" -maxdepth 1 -name 'gpu_*' ! -name '*_times' -type f -perm -u+x 2>/dev/null | sort | grep -E -- "$match"; }

run_tests() {
    local program
    [ -n "$(programs)" ] || { step tests programs failed 0 "no gpu_* in $build/bin"; return; }
    for program in $(programs); do # one by one: some tests look at what memory is free
        run_limited 300 tests "$(basename "$program")" "$program" --gtest_brief=1
    done
    [[ -x $build/bin/accuracy && accuracy =~ $match ]] && # errors over theta and order, against sums on the CPU
        run_limited 120 tests accuracy "$build/bin/accuracy" --gtest_brief=1 --gtest_filter='*/gpu'
}

# Small inputs only: a sanitizer takes 10 to 100 times as long. See sanitize.py for what runs when, and what is left out.
run_sanitize() {
    command -v compute-sanitizer >/dev/null || { step sanitize sanitize failed 0 "no compute-sanitizer (CUDA Toolkit)"; return; }
    python3 "$source_folder/tests/gpu/sanitize.py" "$build/bin" "$out" $((deadline - SECONDS)) "$devices" \
        --match "$match" --resume "$resume" >>"$out/steps.txt" ||
        step sanitize sanitize failed 0 "sanitize.py"
}

# The lines of bench.txt of one stage, see there: "NAME|PROGRAM arguments".
bench_rows() { # stage
    local name stage level words
    while IFS='|' read -r name words; do
        read -r name stage level <<<"$name"
        [[ -z "$name" || $name == \#* || $stage != "$1" || ($level == full && $bench != full) || ! $name =~ $match ]] && continue
        [ "$bench" = full ] && grep -q "^$name+ " "$source_folder/tests/gpu/bench.txt" && continue # a full row stands for it
        echo "$name|${words# }"
    done <"$source_folder/tests/gpu/bench.txt"
}

run_measurements() { # stage
    local name words program answers rest
    while IFS='|' read -r name words; do
        answers=$out/$name.jsonl
        rest=${words//@json/$answers} rest=${rest//@bin/$build/bin}
        program=${rest%% *} rest=${rest#* }
        case $program in *.py) program="python3 $source_folder/tests/gpu/studies/$program" ;; *) program=$build/bin/$program ;; esac
        rm -f "$answers" "$out/$name.log"
        # shellcheck disable=SC2086
        run_limited 150 "$1" "$name" $program $rest </dev/null || true
        [[ $words == *@json* || ! -e $out/$name.log ]] || grep -a '^{' "$out/$name.log" >"$answers"
        python3 "$source_folder/tests/gpu/report.py" add "$out" "$name" "$words"
    done < <(bench_rows "$1")
}
run_bench() { run_measurements bench; }
run_papers() { run_measurements papers; }

run_ranks() {
    local script=$source_folder/tests/gpu/ranks.sh full=()
    [ "${devices:-0}" -ge 2 ] || { step ranks ranks skipped 0 "one device only"; return; }
    [ -e "$script" ] || { step ranks ranks skipped 0 "no tests/gpu/ranks.sh"; return; }
    [ $bench = full ] && full=(--full)
    run_limited 200 ranks ranks bash "$script" --build "$build" --out "$out" "${full[@]}"
}

find_cuda
use_debs
: >"$out/bench.jsonl"
rm -f "$out/ranks.jsonl"
wants build && [ $no_build = no ] && run_build
export LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
[ -e "$build/lib/libgraft.so.1" ] && export GRAFT_LIBRARY=$build/lib/libgraft.so.1
[ -e "$build/lib/libgraft_cuda.so" ] && export GRAFT_CUDA_LIBRARY=$build/lib/libgraft_cuda.so
deadline=$((SECONDS + limit))
for stage in tests bench ranks sanitize papers; do # what is timed has the machine for itself
    wants $stage || continue
    if [ -z "$device" ] && [ $stage != tests ]; then step $stage $stage skipped 0 "no CUDA device"; else run_$stage; fi
done
python3 "$source_folder/tests/gpu/report.py" show "$out" "${device:-none}" "${cuda_release:-none}"
! grep -qP '^[^\t]*\t[^\t]*\t(failed|findings|lost|cut off)\t' "$out/steps.txt"
