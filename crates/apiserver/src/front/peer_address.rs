/// The address of the client. The listener puts it into the extensions of each request.
#[derive(Clone, Copy, Debug)]
pub struct PeerAddress(pub std::net::IpAddr);
