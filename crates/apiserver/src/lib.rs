//! HTTP: paths, negotiation, framing, discovery, OpenAPI.
