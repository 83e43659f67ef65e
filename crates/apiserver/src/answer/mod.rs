//! Responses: content negotiation, representation, and encoding.

pub(crate) mod frame;
mod list_text;
pub(crate) mod negotiate;
pub(crate) mod protobuf;
pub(crate) mod protobuf_list;
pub(crate) mod render;
pub(crate) mod renderings;
pub(crate) mod respond;
pub(crate) mod stream;
mod turns;
pub(crate) mod unread;
