//! Which address a Service gets.

use std::collections::BTreeSet;
use std::net::IpAddr;

use coracle_api::core_v1::Service;
use coracle_meta::Cidr;

/// What to do for a Service.
#[derive(Debug, PartialEq)]
pub(super) enum LoadBalancerStep {
    /// Nothing.
    Keep,
    /// Allocate this address.
    Give(IpAddr),
    /// Release its address.
    TakeBack,
    /// Report why it gets none.
    Refuse(String),
}

/// Whether the Service requests a load balancer, and names no class of another controller.
pub(super) fn wants_one(service: &Service) -> bool {
    service.spec.type_ == "LoadBalancer"
        && service.spec.load_balancer_class.is_none()
        && !service.metadata.is_terminating()
}

/// The addresses that a Service has.
pub(super) fn addresses(service: &Service) -> Vec<IpAddr> {
    service.status.load_balancer.ingress.iter().filter_map(|ingress| ingress.ip.parse().ok()).collect()
}

/// What to do for a Service; `taken` are the addresses of others.
pub(super) fn step(service: &Service, range: Cidr, taken: &BTreeSet<IpAddr>) -> LoadBalancerStep {
    let has = addresses(service);
    if !wants_one(service) {
        let is_from_here = !has.is_empty() && has.iter().all(|address| range.has_host(*address));
        let is_other_type = service.spec.type_ != "LoadBalancer";
        return if is_from_here && is_other_type { LoadBalancerStep::TakeBack } else { LoadBalancerStep::Keep };
    }
    let wished = service.spec.load_balancer_ip.as_str();
    let is_right = |address: &IpAddr| {
        range.has_host(*address) && !taken.contains(address) && (wished.is_empty() || wished.parse() == Ok(*address))
    };
    if let [one] = has.as_slice()
        && is_right(one)
    {
        return LoadBalancerStep::Keep;
    }
    let family = range.family();
    let families = &service.spec.ip_families;
    if !families.is_empty() && !families.iter().any(|one| one == family) {
        return LoadBalancerStep::Refuse(format!("the Service has no address of the family {family} of {range}"));
    }
    if wished.is_empty() {
        let free = range.hosts().find(|address| !taken.contains(address));
        return free.map_or_else(
            || LoadBalancerStep::Refuse(format!("no address of {range} is free")),
            LoadBalancerStep::Give,
        );
    }
    match wished.parse::<IpAddr>() {
        Ok(address) if is_right(&address) => LoadBalancerStep::Give(address),
        Ok(address) if taken.contains(&address) => LoadBalancerStep::Refuse(format!("{address} is another Service's")),
        _ => LoadBalancerStep::Refuse(format!("{wished:?} is no address of {range}")),
    }
}

/// The decision as a sentence, for the event log.
pub(super) fn sentence(step: &LoadBalancerStep) -> String {
    match step {
        LoadBalancerStep::Keep => "nothing to do".to_owned(),
        LoadBalancerStep::Give(address) => format!("give it {address}"),
        LoadBalancerStep::TakeBack => "it is a load balancer no more: take its address back".to_owned(),
        LoadBalancerStep::Refuse(why) => why.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::core_v1::LoadBalancerIngress;

    fn service(wished: &str, has: &[&str]) -> Service {
        let mut service = Service::default();
        service.spec.type_ = "LoadBalancer".to_owned();
        service.spec.ip_families = vec!["IPv4".to_owned()];
        wished.clone_into(&mut service.spec.load_balancer_ip);
        let ingress = |ip: &&str| LoadBalancerIngress { ip: (*ip).to_owned(), ..LoadBalancerIngress::default() };
        service.status.load_balancer.ingress = has.iter().map(ingress).collect();
        service
    }

    fn decided(service: &Service, taken: &[&str]) -> LoadBalancerStep {
        step(
            service,
            Cidr::parse("10.9.0.0/30").unwrap(),
            &taken.iter().map(|address| address.parse().unwrap()).collect(),
        )
    }

    fn give(address: &str) -> LoadBalancerStep {
        LoadBalancerStep::Give(address.parse().unwrap())
    }

    #[test]
    fn a_service_gets_the_first_free_address_or_the_one_it_wishes_and_keeps_it() {
        assert_eq!(decided(&service("", &[]), &[]), give("10.9.0.1"));
        assert_eq!(decided(&service("", &[]), &["10.9.0.1"]), give("10.9.0.2"));
        assert_eq!(decided(&service("10.9.0.2", &[]), &[]), give("10.9.0.2"));
        assert_eq!(decided(&service("", &["10.9.0.2"]), &[]), LoadBalancerStep::Keep);
        assert_eq!(decided(&service("", &["10.8.0.2"]), &[]), give("10.9.0.1"), "the range is another one now");
        for (wished, taken) in [("", vec!["10.9.0.1", "10.9.0.2"]), ("10.9.0.1", vec!["10.9.0.1"]), ("here", vec![])] {
            assert!(
                matches!(decided(&service(wished, &[]), &taken), LoadBalancerStep::Refuse(_)),
                "{wished} {taken:?}"
            );
        }
    }

    #[test]
    fn a_service_of_another_type_gives_its_address_back_and_one_of_a_class_is_left_alone() {
        let mut other = service("", &["10.9.0.1"]);
        other.spec.type_ = "ClusterIP".to_owned();
        assert_eq!(decided(&other, &[]), LoadBalancerStep::TakeBack);
        let mut of_class = service("", &[]);
        of_class.spec.load_balancer_class = Some("example.com/lb".to_owned());
        assert_eq!(decided(&of_class, &[]), LoadBalancerStep::Keep);
    }
}
