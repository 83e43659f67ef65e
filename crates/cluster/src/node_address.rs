use coracle_meta::Object;
use coracle_meta::fields::Fields;

use crate::KubeletClient;

/// The address of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeAddress {
    /// A name or an address; IPv6 without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl NodeAddress {
    /// `https://172.18.0.2:10250`
    pub(crate) fn origin(&self) -> String {
        let Self { host, port } = self;
        if host.contains(':') { format!("https://[{host}]:{port}") } else { format!("https://{host}:{port}") }
    }

    /// The address of this node. In Kubernetes: `NodeConnectionInfoGetter`.
    ///
    /// # Errors
    /// If it has no address of a preferred type, in the words of `NoMatchError`.
    pub(crate) fn of(node: &Object, client: &KubeletClient) -> Result<Self, String> {
        let addresses = node.list("status.addresses");
        let of_type = |wanted: &String| addresses.iter().find(|address| address.text("type") == wanted);
        let Some(found) = client.preferred_address_types.iter().find_map(of_type) else {
            let known =
                addresses.iter().map(|address| format!("{{{} {}}}", address.text("type"), address.text("address")));
            let known = known.collect::<Vec<_>>().join(" ");
            return Err(format!("no preferred addresses found; known addresses: [{known}]"));
        };
        let said = node.at("status.daemonEndpoints.kubeletEndpoint.Port").as_u64().unwrap_or_default();
        let port = u16::try_from(said).ok().filter(|port| *port > 0).unwrap_or(client.port);
        Ok(Self { host: found.text("address").to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(addresses: &[(&str, &str)], port: u64) -> Object {
        let addresses: Vec<_> =
            addresses.iter().map(|(kind, address)| json!({"type": kind, "address": address})).collect();
        let endpoints = json!({"kubeletEndpoint": {"Port": port}});
        Object::from_value(json!({"status": {"addresses": addresses, "daemonEndpoints": endpoints}})).unwrap()
    }

    #[test]
    fn a_node_is_called_by_the_address_that_is_preferred_and_at_the_port_that_it_says() {
        let addresses = [("InternalIP", "172.18.0.2"), ("Hostname", "node-1"), ("ExternalIP", "::1")];
        let origin = |client: &KubeletClient, port| NodeAddress::of(&node(&addresses, port), client).unwrap().origin();
        assert_eq!(origin(&KubeletClient::default(), 41234), "https://node-1:41234");
        let outside =
            KubeletClient { preferred_address_types: vec!["ExternalIP".to_owned()], ..KubeletClient::default() };
        assert_eq!(origin(&outside, 0), "https://[::1]:10250");
        let why = NodeAddress::of(&node(&addresses[..2], 1), &outside).unwrap_err();
        assert_eq!(why, "no preferred addresses found; known addresses: [{InternalIP 172.18.0.2} {Hostname node-1}]");
    }
}
