//! Requests: the request line, authentication and authorization, and the body.

pub(crate) mod access;
pub(crate) mod anonymous;
pub(crate) mod authenticate;
pub(crate) mod body;
pub(crate) mod constrained_impersonation;
pub(crate) mod deadline;
pub(crate) mod endpoint;
#[cfg(test)]
mod header_pairs;
pub(crate) mod identification;
pub(crate) mod impersonate;
pub(crate) mod impersonation_headers;
pub(crate) mod options;
pub(crate) mod passed_on;
pub(crate) mod path_service;
pub(crate) mod peer_address;
pub(crate) mod received;
pub(crate) mod request_headers;
pub(crate) mod request_info;
pub(crate) mod token;
pub(crate) mod unread_request;
pub(crate) mod upgrade;
pub(crate) mod web_socket;
