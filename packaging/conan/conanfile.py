"""conan create packaging/conan: the planner as a Conan package, from the tree that this file lies in."""

from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Stowage(ConanFile):
    name = "stowage"
    version = "0.1.0"
    description = "Static memory planner for neural networks"
    license = "Apache-2.0"
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"
    # system_libs: of the host's packages (on Debian those of scripts/packages.sh), not of Conan's.
    options = {"runner": [True, False], "isl": [True, False], "system_libs": [True, False]}
    default_options = {"runner": False, "isl": False, "system_libs": False}

    def export_sources(self):
        root = Path(self.recipe_folder).parent.parent
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def requirements(self):
        if not self.options.system_libs:
            for library in ("cli11/2.4.2", "flatbuffers/24.3.25", "fmt/10.2.1", "nlohmann_json/3.11.3", "protozero/1.7.1",
                            "xxhash/0.8.2"):
                self.requires(library)

    def build_requirements(self):
        if not self.options.system_libs:
            self.tool_requires("flatbuffers/24.3.25")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "STOWAGE_TESTS": False, "STOWAGE_ONEDNN": False, "STOWAGE_RUNNER": bool(self.options.runner),
            "STOWAGE_ISL": bool(self.options.isl), "CMAKE_UNITY_BUILD": True})
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")

    def package_info(self):
        # The package's own CMake files know the components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append("lib/cmake/stowage")
        self.cpp_info.libs = [*(["stowage_run"] if self.options.runner else []), "stowage", "stowage_pack"]
        if self.options.system_libs:
            self.cpp_info.system_libs = [*(["fmt"] if self.options.runner or self.options.isl else []),
                                         *(["isl"] if self.options.isl else [])]
