//! Services, with their endpoints.

use serde_json::Value;

use super::labels::metadata;
use super::{Description, Facts, events};
use crate::failure::Failure;
use crate::session::CommandSession;
use crate::table::labels as one_line;
use crate::values::{list, name, namespace, number, show, text};

/// How many addresses are shown.
const SHOWN: usize = 3;

pub(super) async fn service(
    session: &mut CommandSession<'_>,
    service: &Value,
    facts: &Facts,
) -> Result<Description, Failure> {
    let kind = session.built_in("discovery.k8s.io", "EndpointSlice").await?;
    let labels = format!("kubernetes.io/service-name={}", name(service));
    let slices = session.list(&kind, namespace(service), &labels, "").await.unwrap_or_default();
    let mut out = Description::default();
    let spec = |field: &str| text(service, &format!("/spec/{field}"));
    let joined = |field: &str| {
        let items: Vec<String> = list(service, &format!("/spec/{field}")).iter().map(show).collect();
        items.join(",")
    };
    let or_none = |text: String| if text.is_empty() { "<none>".to_owned() } else { text };
    out.field(0, "Name", name(service));
    out.field(0, "Namespace", namespace(service));
    metadata(&mut out, service);
    out.field(0, "Selector", one_line(&service["spec"]["selector"]));
    out.field(0, "Type", spec("type"));
    out.field_if(0, "IP Family Policy", spec("ipFamilyPolicy"));
    out.field(0, "IP Families", or_none(joined("ipFamilies")));
    out.field(0, "IP", spec("clusterIP"));
    out.field(0, "IPs", or_none(joined("clusterIPs")));
    out.field_if(0, "External IPs", &joined("externalIPs"));
    out.field_if(0, "Desired LoadBalancer IP", spec("loadBalancerIP"));
    out.field_if(0, "External Name", spec("externalName"));
    out.field_if(0, "LoadBalancer Ingress", &ingress(list(service, "/status/loadBalancer/ingress")));
    for port in list(service, "/spec/ports") {
        let (name, protocol) = (text(port, "/name"), text(port, "/protocol"));
        let shown = if name.is_empty() { "<unset>" } else { name };
        out.field(0, "Port", format!("{shown}\t{}/{protocol}", show(&port["port"])));
        out.field(0, "TargetPort", format!("{}/{protocol}", show(&port["targetPort"])));
        if let Some(port) = number(port, "/nodePort").filter(|port| *port != 0) {
            out.field(0, "NodePort", format!("{shown}\t{port}/{protocol}"));
        }
        out.field(0, "Endpoints", endpoints(&slices, name));
    }
    out.field(0, "Session Affinity", spec("sessionAffinity"));
    out.field_if(0, "External Traffic Policy", spec("externalTrafficPolicy"));
    out.field_if(0, "Internal Traffic Policy", spec("internalTrafficPolicy"));
    if let Some(port) = number(service, "/spec/healthCheckNodePort").filter(|port| *port != 0) {
        out.field(0, "HealthCheck NodePort", port);
    }
    out.field_if(0, "LoadBalancer Source Ranges", &joined("loadBalancerSourceRanges"));
    events::describe(&mut out, facts);
    Ok(out)
}

fn ingress(ingress: &[Value]) -> String {
    let one = |point: &Value| match (text(point, "/ip"), text(point, "/ipMode")) {
        ("", _) => text(point, "/hostname").to_owned(),
        (address, "") => address.to_owned(),
        (address, mode) => format!("{address} ({mode})"),
    };
    ingress.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The ready addresses of a port. In Kubernetes: `describe.formatEndpointSlices`.
fn endpoints(slices: &[Value], port_name: &str) -> String {
    if slices.is_empty() {
        return "<none>".to_owned();
    }
    let mut addresses = Vec::new();
    for slice in slices {
        let ready = list(slice, "/endpoints").iter().filter(|endpoint| endpoint["conditions"]["ready"] != false);
        let ready: Vec<&str> = ready.map(|endpoint| text(endpoint, "/addresses/0")).collect();
        let ports = list(slice, "/ports");
        if ports.is_empty() {
            addresses.extend(ready.iter().map(|address| (*address).to_owned()));
        }
        for port in ports.iter().filter(|port| text(port, "/name") == port_name) {
            let number = number(port, "/port").unwrap_or_default();
            let with_port = |address: &&str| {
                if address.contains(':') { format!("[{address}]:{number}") } else { format!("{address}:{number}") }
            };
            addresses.extend(ready.iter().map(with_port));
        }
    }
    let shown = addresses.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(",");
    match addresses.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}
