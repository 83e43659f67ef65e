//! The controllers that apply Stages to the objects of the API.

pub(crate) mod object_cache;
pub(crate) mod objects;
pub(crate) mod pools;
pub(crate) mod rest_mapper;
pub(crate) mod stage_controller;
pub(crate) mod stage_runner;
