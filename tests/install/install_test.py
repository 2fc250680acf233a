#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs the build into a folder, moves it, and builds and runs the consumer projects against the moved tree.

usage: install_test.py CMAKE BUILD_FOLDER WORK_FOLDER install
       install_test.py CMAKE BUILD_FOLDER WORK_FOLDER consume PROJECT_FOLDER [-DCMAKE_..._COMPILER=...]
       install_test.py CMAKE BUILD_FOLDER WORK_FOLDER pkgconfig SOURCE.c C_COMPILER
       install_test.py CMAKE BUILD_FOLDER WORK_FOLDER command     (the installed graft command)
       install_test.py CMAKE BUILD_FOLDER WORK_FOLDER packages    (Debian packages: together, what is installed)

No GRAFT_LIBRARY and no LD_LIBRARY_PATH: an installed tree must work by itself.
"""
import json
import os
import shutil
import subprocess
import sys

EXPECTED = ("include/graft/graft.h", "include/graft/api.h", "include/graft/types.h", "include/graft/functions.h",
            "include/graft/views.h", "include/graft/graft.hpp", "include/graft/graft_views.hpp", "include/graft/graft_near.hpp",
            "include/graft/graft_loader.h", "include/graft/graft_mpi_loader.h",
            "share/graft/loader/graft_loader.c", "share/graft/loader/graft_loader.h",
            "share/graft/loader/graft_mpi_loader.c", "share/graft/loader/graft_mpi_loader.h")

HOOKS = (b"GRAFT_TEST_MPI_CHUNK", b"GRAFT_CUDA_MULTIPROCESSORS")


def run(*command, **options):
    environment = {key: value for key, value in os.environ.items() if key not in ("GRAFT_LIBRARY", "LD_LIBRARY_PATH")}
    environment.update(options.pop("extra", {}))
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, check=True, env=environment, **options)


def find(prefix, name):
    """Folders below prefix that have this file (the library folder's name is the distribution's)."""
    return [root for root, _, names in os.walk(prefix) if name in names]


def install(cmake, build, work):
    first, prefix = os.path.join(work, "first"), os.path.join(work, "prefix")
    shutil.rmtree(first, ignore_errors=True)
    shutil.rmtree(prefix, ignore_errors=True)
    run(cmake, "--install", build, "--prefix", first, stdout=subprocess.DEVNULL)
    os.rename(first, prefix)
    missing = [path for path in EXPECTED if not os.path.exists(os.path.join(prefix, path))]
    missing += [name for name in ("libgraft.so.1", "libgraft.so", "libgraft_api.a", "graft.pc", "graft-config.cmake")
                if not find(prefix, name)]
    missing += [f"{name} beside libgraft.so.1" for name in ("libgraft_study.so", "libgraft_cuda.so", "libgraft_cuda_study.so")
                if os.path.exists(os.path.join(build, "lib", name)) and find(prefix, name) != find(prefix, "libgraft.so.1")]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}")
    no_hooks(build, prefix)


def no_hooks(build, prefix):
    """No library obeys what only tests set (docs/developer/variables.md), unless that was asked for."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        if "GRAFT_TEST_HOOKS:BOOL=ON\n" in cache.read():
            return
    for root, _, names in os.walk(prefix):
        for path in (os.path.join(root, name) for name in names if ".so" in name):
            with open(path, "rb") as library:
                content = library.read()
            found = [word for word in HOOKS if word in content]
            if found:
                raise SystemExit(f"{path} has the test hook {found[0].decode()}; expected none without GRAFT_TEST_HOOKS")


def consume(cmake, prefix, work, project, *definitions):
    build = os.path.join(work, "consumer_" + os.path.basename(project))
    shutil.rmtree(build, ignore_errors=True)
    run(cmake, "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release", *definitions,
        stdout=subprocess.DEVNULL)
    run(cmake, "--build", build, stdout=subprocess.DEVNULL)
    run(os.path.join(os.path.dirname(cmake), "ctest"), "--test-dir", build, "--output-on-failure", "--no-tests=error")


def pkgconfig(prefix, work, source, compiler):
    found = {"PKG_CONFIG_PATH": find(prefix, "graft.pc")[0]}
    flags = run("pkg-config", "--cflags", "--libs", "graft", extra=found, capture_output=True, text=True).stdout.split()
    if any(flag.endswith("include/graft") for flag in flags if flag.startswith("-I")):
        raise SystemExit(f"only include/ belongs on a host's path: {flags}")
    binary = os.path.join(work, "consumer_pkgconfig")
    run(compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", source, *flags, "-lm", "-o", binary)
    run(binary)


def command(prefix):
    """The installed command finds both libraries; without a device, the driver or the device is what is missing."""
    answer = json.loads(run(os.path.join(prefix, "bin", "graft"), "info", "--json", capture_output=True, text=True).stdout)
    gpu = answer["machine"]["gpu"]
    print(answer)
    wrong = [words for words in ("not found", "not of this build") if words in gpu.get("why", "")]
    if find(prefix, "libgraft_cuda.so") and wrong:
        raise SystemExit(f"the installed libgraft_cuda.so is not used: {gpu}")
    run(os.path.join(prefix, "bin", "graft"), "selftest", "--require", "cpu")


def files_below(folder):
    return {os.path.relpath(os.path.join(root, name), folder) for root, _, names in os.walk(folder) for name in names}


def packages(cmake, build, prefix, work):
    """Each file of cmake --install is in one package, the licence as Debian wants it; each package names what it needs."""
    folder = os.path.join(work, "packages")
    shutil.rmtree(folder, ignore_errors=True)
    run(os.path.join(os.path.dirname(cmake), "cpack"), "-G", "DEB", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", folder,
        stdout=subprocess.DEVNULL)
    seen, depends = {}, {}
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".deb")):
        content = os.path.join(folder, name[:-4])
        run("dpkg-deb", "--extract", os.path.join(folder, name), content)
        package = name.split("_")[0]
        depends[package] = run("dpkg-deb", "--field", os.path.join(folder, name), "Depends", capture_output=True, text=True).stdout
        for path in files_below(os.path.join(content, "usr")):
            seen.setdefault(path, []).append(package)
    own = {f"share/doc/{package}/{name}" for package in depends for name in ("copyright", "changelog.Debian.gz")}
    own |= {f"share/lintian/overrides/{package}" for package in depends}
    expected = files_below(prefix) - {"share/graft/LICENSE"} | own | {"lib/python3/dist-packages/graft.pth"}
    twice = [f"{path} in {' and '.join(where)}" for path, where in seen.items() if len(where) > 1]
    wrong = sorted(expected ^ set(seen)) + twice
    wrong += [f"{package} depends on {depends[package].strip() or 'nothing'}" for package in depends
              if ("libc6" if package == "libgraft1" else "libgraft1 (") not in depends[package]]
    for package, path in (("libgraft1", "libgraft.so.1"), ("graft", "bin/graft"), ("graft", "man1/graft.1.gz"),
                          ("python3-graft", "graft/__init__.py"), ("libgraft-dev", "libgraft_api.a"), ("libgraft-dev", "graft.h")):
        if not any(where == [package] and name.endswith(path) for name, where in seen.items()):
            wrong.append(f"{path} not in {package}")
    if wrong:
        raise SystemExit("packages: " + "; ".join(wrong))


def main(cmake, build, work, what, *more):
    prefix = os.path.join(work, "prefix")
    if what == "install":
        install(cmake, build, work)
    elif what == "consume":
        consume(cmake, prefix, work, *more)
    elif what == "pkgconfig":
        pkgconfig(prefix, work, *more)
    elif what == "packages":
        packages(cmake, build, prefix, work)
    else:
        command(prefix)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
