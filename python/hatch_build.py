"""Puts the program into the wheel, and the platform into its name, if `build_wheel.py` names them."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CarriedBinary(BuildHookInterface):
    def initialize(self, version, build_data):
        binary = os.environ.get("CORACLE_WHEEL_BINARY")
        if not binary:
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['CORACLE_WHEEL_PLATFORM']}"
        build_data["force_include"][binary] = "coracle/bin/coracle"
