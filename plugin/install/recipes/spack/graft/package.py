# SPDX-License-Identifier: BSD-3-Clause
# Spack. In the source tree (the folder above this one is a list of packages):
#     spack repo create ~/graft-repo graft && cp -r plugin/install/recipes/spack/graft ~/graft-repo/packages && spack repo add ~/graft-repo
#     spack dev-build graft@1.0.0
from spack.package import *


class Graft(CMakePackage, CudaPackage):
    """Gravity and Coulomb forces, domain decomposition and load balancing that simulation codes load."""

    license("BSD-3-Clause")

    version("1.0.0")

    variant("openmp", default=True, description="threads")
    variant("mpi", default=True, description="the shim of the MPI")
    variant("fortran", default=True, description="Fortran modules")
    variant("command", default=True, description="the graft command")
    variant("hdf5", default=True, when="+command", description="HDF5 snapshots in the graft command")
    variant("study", default=True, description="benches, calibration, simulated ranks")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.10:", type="build")
    depends_on("yaml-cpp@0.7:")
    depends_on("highway@1.0:")
    depends_on("mpi", when="+mpi")
    depends_on("boost+program_options", when="+command")
    depends_on("libpng", when="+command")
    depends_on("hdf5~mpi", when="+hdf5")
    depends_on("cuda@12:", when="+cuda")

    conflicts("%gcc@:11", msg="Graft is C++20, as g++ 12 and clang 19 have it")

    def cmake_args(self):
        parts = (("OPENMP", "openmp"), ("MPI", "mpi"), ("FORTRAN", "fortran"), ("CLI", "command"), ("HDF5", "hdf5"), ("STUDY", "study"),
                 ("CUDA", "cuda"))
        arguments = [self.define(f"GRAFT_WITH_{part}", "ON" if self.spec.satisfies(f"+{variant}") else "OFF") for part, variant in parts]
        arguments.append(self.define("GRAFT_WITH_HOSTS", False))
        if self.spec.satisfies("+mpi"):
            arguments.append(self.define("GRAFT_MPICC", self.spec["mpi"].mpicc))
        if self.spec.satisfies("+cuda") and not self.spec.satisfies("cuda_arch=none"):
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return arguments

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.graft.python)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def selftest(self):
        if self.spec.satisfies("+command"):
            Executable(self.prefix.bin.graft)("selftest", "--require", "cpu")
