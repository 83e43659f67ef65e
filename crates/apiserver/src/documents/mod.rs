//! Paths that are not resources: discovery, OpenAPI, health, metrics.

pub(crate) mod discovery;
pub(crate) mod etag;
pub(crate) mod health;
pub(crate) mod merged_openapi;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod openapi_protobuf;
pub(crate) mod zpages;
