//! Allocates node ports, and the health check node port.

use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, GroupVersionResource, Object, Status};
use coracle_registry::{ListOptions, Verb};
use serde_json::Value;

use super::super::service_needs::{needs_health_check_port, needs_node_ports, ports_of};
use super::taken::Taken;
use super::{hash, invalid};

/// The node ports that matter for a write.
struct KnownPorts {
    /// Those of other Services.
    used: BTreeSet<i64>,
    /// Those that the Service had.
    held: BTreeSet<i64>,
    /// Those that this write has allocated.
    own: BTreeSet<i64>,
}

impl Taken {
    pub(super) async fn take_ports(&mut self, service: &mut Object, old: Option<&Object>) -> Result<(), Status> {
        let may_have = matches!(service.text("spec.type"), "NodePort" | "LoadBalancer");
        let wants_check = needs_health_check_port(service);
        if !may_have && !wants_check {
            return Ok(());
        }
        let mut known = self.known_ports(old).await?;
        if may_have {
            let ports = self.take_node_ports(service, old.is_none(), &mut known).await?;
            write_node_ports(service, &ports);
        }
        if wants_check {
            let port = self.take_health_check_port(service, &known).await?;
            service.set("spec.healthCheckNodePort", port);
        }
        Ok(())
    }

    /// Allocates a free port; returns false if another Service has it.
    async fn take_unused_port(&mut self, port: i64, known: &KnownPorts) -> Result<bool, Status> {
        if known.used.contains(&port) || !self.take_port(port).await? {
            return Ok(false);
        }
        // Another API server may have written it, and released its claim, since the Services were listed.
        Ok(!self.has_claims() || !self.used_ports(&known.held).await?.contains(&port))
    }

    async fn known_ports(&self, old: Option<&Object>) -> Result<KnownPorts, Status> {
        let held: BTreeSet<i64> = old.map(ports_of).unwrap_or_default().into_iter().collect();
        Ok(KnownPorts { used: self.used_ports(&held).await?, held, own: BTreeSet::new() })
    }

    /// The ports of all Services, except those that this one had.
    async fn used_ports(&self, held: &BTreeSet<i64>) -> Result<BTreeSet<i64>, Status> {
        let services = GroupVersionResource::new("", "v1", "services");
        let about = self.request().about(Verb::List, services, "", "");
        let all = self.registry().list(&about, &ListOptions::default()).await?;
        let used = all.items.iter().flat_map(|stored| ports_of(&stored.object()));
        Ok(used.filter(|port| !held.contains(port)).collect())
    }

    /// A node port for each port of the Service; 0 for a port without one.
    async fn take_node_ports(
        &mut self,
        service: &Object,
        is_new: bool,
        known: &mut KnownPorts,
    ) -> Result<Vec<i64>, Status> {
        let ports = service.list("spec.ports");
        let mut by_port: BTreeMap<i64, i64> = BTreeMap::new();
        let mut taken = Vec::new();
        for (at, port) in ports.iter().enumerate() {
            if port.int("nodePort") == 0 && !needs_node_ports(service) {
                taken.push(0);
                continue;
            }
            let node_port = match wanted_port(ports, port, &by_port, is_new) {
                0 => self.choose_port(service, known).await?,
                wanted if known.held.contains(&wanted) => wanted,
                // Ports with one number and several protocols share a node port; in a new Service, others do not.
                wanted
                    if known.own.contains(&wanted) && (!is_new || by_port.get(&port.int("port")) == Some(&wanted)) =>
                {
                    wanted
                }
                wanted => self.claim_port(wanted, known).await?.map_err(|why| {
                    let error = FieldError::invalid(format!("spec.ports[{at}].nodePort"), wanted, why);
                    invalid(service, &[error])
                })?,
            };
            known.own.insert(node_port);
            by_port.insert(port.int("port"), node_port);
            taken.push(node_port);
        }
        Ok(taken)
    }

    async fn take_health_check_port(&mut self, service: &Object, known: &KnownPorts) -> Result<i64, Status> {
        match service.int("spec.healthCheckNodePort") {
            0 => self.choose_port(service, known).await,
            asked if known.held.contains(&asked) => Ok(asked),
            asked => self.claim_port(asked, known).await?.map_err(|why| {
                Status::internal(format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
            }),
        }
    }

    /// Allocates a requested port, or returns why it is not available.
    async fn claim_port(&mut self, port: i64, known: &KnownPorts) -> Result<Result<i64, String>, Status> {
        let (first, last) = self.port_range();
        if known.own.contains(&port) {
            return Ok(Err("provided port is already allocated".to_owned()));
        }
        if !(first..=last).contains(&port) && !self.request().dry_run {
            let why = format!("provided port is not in the valid range. The range of valid ports is {first}-{last}");
            return Ok(Err(why));
        }
        let is_taken = self.take_unused_port(port, known).await?;
        Ok(if is_taken { Ok(port) } else { Err("provided port is already allocated".to_owned()) })
    }

    /// Allocates a free port.
    async fn choose_port(&mut self, service: &Object, known: &KnownPorts) -> Result<i64, Status> {
        let (first, last) = self.port_range();
        let count = (last - first).max(0) + 1;
        let start = i64::try_from(hash(service) % count.unsigned_abs()).expect("a port fits");
        let ports = (0..count).map(|step| first + (start + step) % count);
        for port in ports.filter(|port| !known.own.contains(port)) {
            if self.take_unused_port(port, known).await? {
                return Ok(port);
            }
        }
        Err(Status::internal("failed to allocate a nodePort: range is full"))
    }
}

/// The requested node port; 0 for any. In a new Service, ports with one number share it.
fn wanted_port(ports: &[Value], port: &Value, by_port: &BTreeMap<i64, i64>, is_new: bool) -> i64 {
    let (number, asked) = (port.int("port"), port.int("nodePort"));
    if asked != 0 || !is_new {
        return asked;
    }
    let of_another = || {
        let others = ports.iter().filter(|other| other.int("port") == number);
        others.map(|other| other.int("nodePort")).find(|node_port| *node_port != 0)
    };
    by_port.get(&number).copied().or_else(of_another).unwrap_or(0)
}

fn write_node_ports(service: &mut Object, ports: &[i64]) {
    let mut ports = ports.iter();
    edit_spec(service, |spec| {
        spec.each_in("ports", |port| {
            if let Some(node_port @ 1..) = ports.next().copied() {
                port.insert("nodePort".to_owned(), node_port.into());
            }
        });
    });
}
