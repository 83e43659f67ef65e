// Sockets and TLS

mod certificates;
mod kubeconfig;
mod listener;

pub use certificates::{Authority, Identity, write_private};
pub use kubeconfig::kubeconfig;
pub use listener::Listener;
