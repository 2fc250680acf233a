#!/usr/bin/env bash
# Everything about the GPU on one machine with CUDA 12 or later: builds, tests, sanitizers, benchmarks; a table and JSON.
set -uo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$source_folder"

usage() {
    cat <<'TEXT'
usage: tests/gpu/run.sh [options]          builds and runs the GPU tests; exit status 0 when all of what was asked for passed

  --build FOLDER     build folder (build/gpu)
  --out FOLDER       where logs, results.json and bench.jsonl go (BUILD/results)
  --debs FOLDER      dependencies that are not installed: .deb files, or their contents unpacked (FOLDER/usr/...); for
                     machines without root or network. Packages: see packages.txt
  --arch LIST        CMAKE_CUDA_ARCHITECTURES (native where the driver tells, else the project's own)
  --jobs N           compile jobs (number of cores)
  --no-build         use what BUILD holds
  --no-test          no tests
  --sanitize         also compute-sanitizer: memcheck, racecheck, initcheck, synccheck over the test programs, small inputs
  --bench            also the benchmarks of tests/gpu/bench.txt (targets.md's rows)
  --bench-full       these and the ones marked "full" (up to 2^30 particles: 40 GB of host memory)
  --only WORD        test programs and benchmarks whose name has WORD
  -DNAME=VALUE       for CMake; without Fortran and HDF5: -DGRAFT_WITH_FORTRAN=OFF -DGRAFT_WITH_HDF5=OFF
TEXT
}

build=build/gpu out="" debs="" arch="" jobs=$(nproc) do_build=yes do_test=yes sanitize=no bench=no only="" definitions=()
while [ $# -gt 0 ]; do
    case "$1" in
    --build | --out | --debs | --arch | --jobs | --only)
        [ $# -gt 1 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
        name=${1#--}; printf -v "$name" '%s' "$2"; shift ;;
    --no-build) do_build=no ;;
    --no-test) do_test=no ;;
    --sanitize) sanitize=yes ;;
    --bench) bench=yes ;;
    --bench-full) bench=full ;;
    -D*) definitions+=("$1") ;;
    -h | --help) usage; exit 0 ;;
    *) echo "run.sh: '$1' is not understood" >&2; usage >&2; exit 2 ;;
    esac
    shift
done
out=${out:-$build/results}
mkdir -p "$build" "$out"
build=$(cd "$build" && pwd) out=$(cd "$out" && pwd)
: >"$out/steps.txt"
failures=0

# One line of the final table: name, status, seconds, remark.
step() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4:-}" >>"$out/steps.txt"; [ "$2" = failed ] && failures=$((failures + 1)); return 0; }

# Runs a command into a log of its own, and notes how it went; 77 is "skipped".
run_step() { # name command...
    local name=$1 start=$SECONDS status=0; shift
    "$@" >"$out/$name.log" 2>&1 || status=$?
    case $status in
    0) step "$name" ok $((SECONDS - start)) ;;
    77) step "$name" skipped $((SECONDS - start)) ;;
    *) step "$name" failed $((SECONDS - start)) "status $status, see $out/$name.log"; tail -n 15 "$out/$name.log" >&2 ;;
    esac
    return $status
}

find_cuda() {
    local place
    for place in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
        [ -n "$place" ] && [ -x "$place" ] && { nvcc=$place; break; }
    done
    [ -n "${nvcc:-}" ] || { echo "run.sh: no nvcc; install the CUDA Toolkit 12 or later, or set CUDACXX" >&2; exit 1; }
    cuda_release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    [ "${cuda_release%%.*}" -ge 12 ] || { echo "run.sh: $nvcc is release $cuda_release; expected 12 or later" >&2; exit 1; }
    export CUDACXX=$nvcc PATH="$(dirname "$nvcc"):$PATH"
    device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
    echo "CUDA $cuda_release, device: ${device:-none (tests will be skipped)}"
}

# Makes cmake, pkg-config and the dynamic linker look into a folder of unpacked packages first.
use_debs() {
    [ -n "$debs" ] || return 0
    debs=$(cd "$debs" && pwd)
    local file triplet=x86_64-linux-gnu
    for file in "$debs"/*.deb; do
        [ -e "$file" ] && [ ! -e "$debs/usr/.unpacked-$(basename "$file")" ] &&
            dpkg-deb -x "$file" "$debs" && touch "$debs/usr/.unpacked-$(basename "$file")"
    done
    command -v gcc >/dev/null && triplet=$(gcc -dumpmachine)
    export CMAKE_PREFIX_PATH="$debs/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
    export PKG_CONFIG_SYSROOT_DIR="$debs" PKG_CONFIG_PATH="$debs/usr/lib/$triplet/pkgconfig:$debs/usr/share/pkgconfig"
    export LD_LIBRARY_PATH="$debs/usr/lib/$triplet${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export PATH="$debs/usr/bin:$PATH"
}

# What CMake could not find, as packages.
say_missing() {
    local pair
    for pair in 'yaml-cpp|libyaml-cpp-dev' 'libhwy|libhwy-dev' 'GTest|libgtest-dev' 'Boost|libboost-program-options-dev' \
        'PNG|libpng-dev (and zlib1g-dev)' 'HDF5|libhdf5-dev, or -DGRAFT_WITH_HDF5=OFF' 'PkgConfig|pkg-config' \
        'Fortran|gfortran, or -DGRAFT_WITH_FORTRAN=OFF' 'Python3|python3' 'OpenMP|libgomp (g++)'; do
        grep -E -A3 'CMake Error|not found|Could NOT find|No CMAKE_' "$out/configure.log" | grep -q -- "${pair%%|*}" &&
            echo "run.sh: missing: ${pair%%|*}; install ${pair#*|}, or give the packages with --debs" >&2
    done
}

configure_and_build() {
    local generator=() launcher=()
    command -v cmake >/dev/null || { echo "run.sh: no cmake; install cmake (3.22 or later)" >&2; exit 1; }
    command -v g++ >/dev/null || { echo "run.sh: no g++; install g++" >&2; exit 1; }
    command -v ninja >/dev/null && generator=(-G Ninja)
    command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
        -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
    if [ -z "$arch" ]; then # of the first device: "9.0" -> 90
        arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d . | grep -E '^[0-9]+$')
    fi
    run_step configure cmake -S "$source_folder" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DGRAFT_WITH_CUDA=ON \
        ${arch:+-DCMAKE_CUDA_ARCHITECTURES=$arch} "${launcher[@]}" "${definitions[@]}" || { say_missing; report; exit 1; }
    run_step build cmake --build "$build" --target gpu_all -j "$jobs" || { report; exit 1; }
}

programs() { find "$build/bin" -maxdepth 1 -name 'gpu_*' -type f -perm -u+x | sort | grep -F -- "$only"; }

# Small inputs only: a sanitizer takes 10 to 100 times as long.
run_sanitize() {
    command -v compute-sanitizer >/dev/null || { echo "run.sh: no compute-sanitizer (CUDA Toolkit)" >&2; step sanitize failed 0 "no compute-sanitizer"; return; }
    local tool program
    export GRAFT_TEST_SMALL=1
    for tool in memcheck racecheck initcheck synccheck; do
        for program in $(programs); do
            run_step "$tool.$(basename "$program")" timeout 900 compute-sanitizer --tool "$tool" --error-exitcode 86 \
                --print-limit 5 "$program" --gtest_brief=1 \
                --gtest_filter='-*Large*:*Times*:*Rates*:*Speed*:*Bench*:*Million*'
        done
    done
    unset GRAFT_TEST_SMALL
}

# bench.txt: NAME [full] | arguments of graft; answers are JSON lines.
run_bench() {
    local name kind arguments answer start
    : >"$out/bench.jsonl"
    while IFS='|' read -r name arguments; do
        read -r name kind <<<"$name"
        [[ -z "$name" || "$name" == \#* || "$name" != *"$only"* || ("$kind" == full && $bench != full) ]] && continue
        start=$SECONDS
        # shellcheck disable=SC2086
        if answer=$(timeout 1200 "$build/bin/graft" $arguments 2>"$out/bench.$name.log"); then
            printf '{"name":"%s","arguments":"%s","answer":%s}\n' "$name" "${arguments# }" "$answer" >>"$out/bench.jsonl"
            step "bench.$name" ok $((SECONDS - start))
        else
            step "bench.$name" failed $((SECONDS - start)) "$(head -c 300 "$out/bench.$name.log" | tr '\t\n' '  ')"
        fi
    done <"$source_folder/tests/gpu/bench.txt"
}

report() { python3 "$source_folder/tests/gpu/report.py" "$out" "${device:-}" "$cuda_release"; }

find_cuda
use_debs
[ $do_build = yes ] && configure_and_build
[ $do_test = yes ] && run_step tests ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error ${only:+-R "$only"}
for what in sanitize bench; do # tests skip themselves
    [ "${!what}" = no ] && continue
    if [ -z "$device" ]; then step $what skipped 0 "no CUDA device"; else run_$what; fi
done
report
exit $((failures > 0))
