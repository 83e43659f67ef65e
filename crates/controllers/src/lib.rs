//! The controller-manager: a folder per controller.
