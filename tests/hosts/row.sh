#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes one row of docs/user/hosts.md again: the host's tests, then what is too long for CI (drifts).
#
# usage: tests/hosts/row.sh BUILD HOST [FOLDER]    HOST: lammps, openmm, rebound, amuse, nemo, phantom, python; FOLDER for
# states and logs that LAMMPS's runs share (BUILD/rows). Hosts come with ./bootstrap deps.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '4,5s/^# //p' "$0" >&2; exit 2; }
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
host=$2 folder=${3:-$build/rows} status=0
tests=$source_folder/tests/hosts python=$source_folder/build/hosts/bin/python
export GRAFT_LIBRARY=$build/lib/libgraft.so.1 GRAFT_LAMMPS_LIBRARY=$build/lib/libgraft_lammps.so
export GRAFT_REBOUND_LIBRARY=$build/lib/libgraft_rebound.so
[ -x "$python" ] || python=python3
mkdir -p "$folder"

also() { echo "--- $*"; "$@" || status=1; }

case $host in
lammps | openmm | rebound | amuse | nemo | phantom | python) also ctest --test-dir "$build" -R "^host_${host}" -V ;;
*) echo "row.sh: '$host': expected lammps, openmm, rebound, amuse, nemo, phantom or python" >&2; exit 2 ;;
esac
case $host in
lammps)
    for system in salt water; do # Debian's LAMMPS is for Debian's Python
        also /usr/bin/python3 "$tests/lammps/drift.py" "$folder" $system pppm=1e-5 \
            "graft={interaction: coulomb, ewald: {accuracy: 5e-6}, mac: {type: error, accuracy: 1e-5}}"
    done ;;
openmm)
    also "$python" "$tests/openmm/forces.py" "$build/python/openmm"
    also "$python" "$tests/openmm/drift.py" "$build/python/openmm"
    also "$python" "$tests/openmm/drift.py" "$build/python/openmm" --ps 25 --starts 2 ;;
rebound)
    PYTHONPATH=$source_folder/adapters/rebound:$source_folder/adapters/python \
        also "$python" "$tests/rebound/rebound_test.py" drift 100000 10 ;;
amuse) also ctest --test-dir "$build" -R host_python_amuse -V ;;
esac
exit $status
