"""Wiring for builds: kept apart from `compose`, so that commands which build nothing do not load what builds."""

from pathlib import Path

from forkguard.adapters.cmake import CMake
from forkguard.adapters.trees import TreeStore
from forkguard.cli.compose import Project
from forkguard.ports import BuildTools, Talk
from forkguard.workflows.build import Workshop


def open_workshop(project: Project, talk: Talk) -> Workshop:
    """What building a tree of this project needs; see `forkguard.workflows.build.build_tree`."""
    return Workshop(TreeStore(project.trees), build_tools(project.cache), project.map.build, talk)


def build_tools(cache: Path) -> BuildTools:
    """cmake, ninja and the compilers of this machine, with the compiler cache under `cache`."""
    return CMake(cache)
