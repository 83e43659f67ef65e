//! Capability tests, foreign clients and the tests of the architecture: see the files beside this folder.
