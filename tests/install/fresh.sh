#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A bare Debian in a folder, a clone of this repository in it, and the README's commands run there with nothing preinstalled.
# Needs root and mmdebstrap. The last commit is taken, not what is only in the working tree.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: tests/install/fresh.sh {bookworm|trixie} {demo|test|install|packages|wheel|build|aarch64} [OPTION...] [-- ARGUMENT...]
       tests/install/fresh.sh {bookworm|trixie} run [OPTION...] -- COMMAND [ARGUMENT...]

  demo, test, build   ./bootstrap of that name, with the ARGUMENTs
  install             ./bootstrap build, then what docs/user/install.md says: cmake --install, graft selftest, and the examples built and run
  packages            ./bootstrap packages, then a second bare root where apt installs what came, and a host in C, Python and the graft command
                      use it
  wheel               ./bootstrap wheel, then bare roots of this and the newer Debian where pip installs what came; Python, the graft command
                      and a host in C use it
  aarch64             the library and its unit tests, compiled for ARM by Debian's cross compiler and run by qemu; ARGUMENTs are ctest's
  run                 COMMAND in the clone's folder: to look at what failed in a root that was kept

  --root FOLDER     keep the root in FOLDER, and go on in it where it exists (default: a temporary one, removed at the end)
  --shared FOLDER   real inputs, copied beside the clone as ../shared
  --ccache FOLDER   install ccache and keep compiled objects in FOLDER
  --mirror URL      Debian packages from here (default: what this machine's apt takes them from)

The root sees this machine's /proc, /sys and /dev, its name servers, certificates, proxy variables and how its apt reaches
mirrors; of its files nothing else. All mounts are in a namespace of their own and end with the last process in it.
TEXT
}

stop() { echo "fresh.sh: $*" >&2; exit 2; }

parse() {
    case "${1:-}" in
    -h | --help | help) usage; exit 0 ;;
    bookworm | trixie) suite=$1 ;;
    *) usage >&2; exit 2 ;;
    esac
    case "${2:-}" in
    demo | test | install | packages | wheel | build | aarch64 | run) what=$2 ;;
    *) usage >&2; exit 2 ;;
    esac
    shift 2
    root="" shared="" ccache="" mirror="" arguments=()
    while [ $# -gt 0 ]; do
        case "$1" in
        --) arguments=("${@:2}"); return ;;
        --root | --shared | --ccache | --mirror) [ $# -ge 2 ] || stop "$1 needs a value"; declare -g "${1#--}=$2"; shift 2 ;;
        *) stop "$1 is not understood; fresh.sh --help lists the options" ;;
        esac
    done
}

mirror_of_this_machine() {
    local found
    found=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
    echo "${found:-http://deb.debian.org/debian}"
}

take_temporary_root() {
    root=$(mktemp -d "${TMPDIR:-/var/tmp}/graft-$suite.XXXXXX")
    temporary+=("$root")
    chmod 755 "$root"
}

make_root() {
    [ -e "$root/etc/debian_version" ] && return
    mmdebstrap --variant=minbase --format=directory --dpkgopt=force-unsafe-io "$suite" "$root" "${mirror:-$(mirror_of_this_machine)}"
}

# What the root needs to know of this machine to reach the network.
connect() {
    cp --remove-destination /etc/resolv.conf "$root/etc/resolv.conf"
    [ ! -e /etc/hosts ] || cp --remove-destination /etc/hosts "$root/etc/hosts" # this machine's own name
    apt-config dump Acquire::http Acquire::https Acquire::Check-Date Acquire::Check-Valid-Until Acquire::Retries \
        >"$root/etc/apt/apt.conf.d/99host"
    [ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/host-certificates.crt"
}

copy_clone() {
    [ -e "$root/graft" ] || git clone --quiet --no-hardlinks "$repository" "$root/graft"
    git -C "$root/graft" fetch --quiet "$repository" HEAD
    git -C "$root/graft" checkout --quiet --force --detach FETCH_HEAD
    [ -z "$shared" ] || [ -e "$root/shared" ] || cp -rL "$shared" "$root/shared"
}

# Run in a namespace of its own, see inside(): mounts, then the command in the root.
mount_and_run() {
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    if [ -n "$ccache" ]; then
        mkdir -p "$ccache" "$root/ccache"
        mount --bind "$ccache" "$root/ccache"
    fi
    local environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
        SSL_CERT_FILE=/etc/host-certificates.crt PIP_CERT=/etc/host-certificates.crt CCACHE_DIR=/ccache
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    local name
    for name in http_proxy https_proxy no_proxy PIP_INDEX_URL GRAFT_REQUIRE_HOSTS GRAFT_TEST_DATA GRAFT_PHANTOM_SRC GRAFT_NEMO_ROOT; do
        [ -z "${!name:-}" ] || environment+=("$name=${!name}")
    done
    exec env -i "${environment[@]}" chroot "$root" bash -c 'cd /graft && exec "$@"' fresh "$@"
}

# Everything in the namespace ends with this script, however that ends; and so its mounts do.
inside() {
    root=$root ccache=$ccache setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child \
        bash -c "set -e; $(declare -f mount_and_run); mount_and_run \"\$@\"" fresh "$@" <&0 &
    child=$!
    local status=0
    wait "$child" || status=$?
    child=""
    return "$status"
}

clean() {
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true
    wait
    [ ${#temporary[@]} -eq 0 ] || rm -rf --one-file-system "${temporary[@]}"
}

# The lines of docs/user/install.md for building the examples, each followed by a run of what it made.
examples_of_install() {
    sed -n '/^P=/,/^```/{/```/d;p}' docs/user/install.md | sed '/LINK$/s/$/ \&\& .\/a.out decks\/minimal.yaml/'
}

# A second root, with these files and nothing else.
take_second_root() {
    take_temporary_root
    make_root
    connect
    mkdir "$root/graft"
    cp "$@" "$root/graft"
    inside apt-get update -q
}

# In a root that has nothing but them and what they depend on.
use_packages() {
    local built=$root/graft
    take_second_root "$built"/build/packages/*.deb "$built/examples/01_minimal.c"
    inside bash -exc "export DEBIAN_FRONTEND=noninteractive
apt-get install -y -q --no-install-recommends ./libgraft1_*.deb ./graft_*.deb ./python3-graft_*.deb
graft selftest --require cpu
ls /usr/share/man/man1/graft.1.gz /usr/share/bash-completion/completions/graft
python3 -c 'import graft, numpy; print(graft.Context(dict(constant=1)).compute(numpy.array([[0, 0, 0], [2.0, 0, 0]]), 1.0).acceleration)'
apt-get install -y -q --no-install-recommends ./*.deb gcc libc6-dev pkg-config mpich
cc 01_minimal.c \$(pkg-config --cflags --libs graft) -lm
./a.out
graft selftest --require cpu,mpi"
}

use_wheel() { # the root that it was built in, the suite
    local built=$1/graft
    suite=$2
    take_second_root "$built"/build/packages/*.whl "$built/examples/01_minimal.c"
    inside bash -exc "export DEBIAN_FRONTEND=noninteractive
apt-get install -y -q --no-install-recommends python3-venv gcc libc6-dev pkg-config
python3 -m venv /venv
. /venv/bin/activate
pip install -q ./libgraft-*.whl
graft selftest --require cpu
python -c 'import graft, numpy; print(graft.Context(dict(constant=1)).compute(numpy.array([[0, 0, 0], [2.0, 0, 0]]), 1.0).acceleration)'
export PKG_CONFIG_PATH=\$(python -c 'import graft; print(graft.__path__[0])')/lib/pkgconfig
cc 01_minimal.c \$(pkg-config --cflags --libs graft) -lm
./a.out"
}

# An emulator is slow: the unit tests alone.
use_cross_compiler() {
    inside bash -exc "export DEBIAN_FRONTEND=noninteractive
dpkg --add-architecture arm64
apt-get update -q
apt-get install -y -q --no-install-recommends cmake ninja-build pkg-config python3 g++-aarch64-linux-gnu qemu-user \
    libyaml-cpp-dev:arm64 libhwy-dev:arm64 libgtest-dev:arm64
cmake -S . -B build/aarch64 -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE=\$PWD/tests/install/aarch64.cmake \
    -DGRAFT_WITH_TESTS=ON -DGRAFT_WITH_HOSTS=OFF -DGRAFT_WITH_STUDY=OFF
cmake --build build/aarch64
ctest --test-dir build/aarch64 -L unit -j \$(nproc) \"\$@\"" aarch64 "$@"
}

run_what() {
    case "$what" in
    run) inside "${arguments[@]}" ;;
    install)
        inside ./bootstrap build "${arguments[@]}"
        inside bash -exc "cmake --install build/release --prefix ~/graft
~/graft/bin/graft selftest
cd examples
$(cd "$repository" && examples_of_install)" ;;
    packages)
        inside ./bootstrap packages "${arguments[@]}"
        use_packages ;;
    aarch64) use_cross_compiler "${arguments[@]}" ;;
    wheel)
        inside ./bootstrap wheel "${arguments[@]}"
        local built=$root built_on=$suite newer
        for newer in bookworm trixie; do
            [[ $newer < $built_on ]] || use_wheel "$built" $newer
        done ;;
    *) inside ./bootstrap "$what" "${arguments[@]}" ;;
    esac
}

child="" temporary=()
parse "$@"
[ "$(id -u)" -eq 0 ] || stop "this needs root: it makes a root file system and mounts in it"
command -v mmdebstrap >/dev/null || stop "mmdebstrap is missing: apt-get install mmdebstrap"
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
if [ -z "$root" ]; then
    take_temporary_root
fi
make_root
root=$(realpath "$root")
[ -z "$ccache" ] || ccache=$(realpath -m "$ccache")
connect
copy_clone
inside apt-get update -q
[ -z "$ccache" ] || inside apt-get install -y -q --no-install-recommends ccache
asked=$suite
run_what
echo "fresh.sh: $asked $what: passed"
