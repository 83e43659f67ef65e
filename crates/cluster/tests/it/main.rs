//! What a cluster that was put together does and refuses, asked as its clients ask.

mod anonymous;
mod attacks;
mod costly_expressions;
mod disturbed_nodes;
mod drawn_names;
mod every_object;
#[cfg(feature = "serve")]
mod far_nodes;
mod flags;
#[cfg(feature = "serve")]
mod front_proxy;
mod identity;
mod images;
mod import;
mod kept_store;
mod no_object_ends_the_server;
mod node_duties;
mod nodes;
mod nothing_left;
mod own_components;
mod plugins;
mod prepared_objects;
#[cfg(feature = "serve")]
mod recorded_rights;
mod remote_commands;
mod remote_store;
#[cfg(feature = "serve")]
mod rereading;
#[cfg(feature = "serve")]
mod review_webhook_sockets;
mod scheduling;
mod single_controllers;
mod stages;
mod started_together;
mod static_pods;
mod transport_layer;
mod usage;
mod volumes;
