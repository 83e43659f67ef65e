use std::net::IpAddr;
use std::sync::Arc;

use coracle_meta::Quantity;

use crate::authorizer::Authorization;
use crate::types::Type;

use super::format::Format;

/// A value of a Kubernetes library.
#[derive(Clone, Debug)]
pub(crate) enum Opaque {
    Quantity(Quantity),
    Url(Url),
    Ip(Ip),
    Cidr(Cidr),
    Semver(Semver),
    Format(&'static Format),
    Authorization(Arc<Authorization>),
}

/// An address. In Kubernetes: `netip.Addr`.
pub(crate) type Ip = IpAddr;

/// An address in a network. In Kubernetes: `netip.Prefix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    /// The address as it was written.
    pub(crate) address: IpAddr,
    pub(crate) network: coracle_meta::Cidr,
}

/// A parsed URL. In Kubernetes: `url.URL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) text: String,
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
}

/// A semantic version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) pre: Vec<String>,
    pub(crate) build: Vec<String>,
}

impl Opaque {
    pub(super) fn type_of(&self) -> Type {
        match self {
            Self::Quantity(_) => Type::Named("kubernetes.Quantity"),
            Self::Url(_) => Type::Named("kubernetes.URL"),
            Self::Ip(_) => Type::Opaque("net.IP"),
            Self::Cidr(_) => Type::Opaque("net.CIDR"),
            Self::Semver(_) => Type::Named("kubernetes.Semver"),
            Self::Format(_) => Type::Named("kubernetes.NamedFormat"),
            Self::Authorization(what) => Type::Named(what.type_name()),
        }
    }

    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::Ip(IpAddr::V4(_)) => Some(4),
            Self::Ip(IpAddr::V6(_)) => Some(16),
            Self::Cidr(cidr) => Some(u64::from(cidr.network.prefix()).div_ceil(8)),
            _ => None,
        }
    }

    /// Whether two values are equal; `None` if they have different types.
    pub(super) fn equals(&self, other: &Self) -> Option<bool> {
        Some(match (self, other) {
            (Self::Quantity(one), Self::Quantity(other)) => one == other,
            (Self::Url(one), Self::Url(other)) => one.text == other.text,
            (Self::Ip(one), Self::Ip(other)) => one == other,
            (Self::Cidr(one), Self::Cidr(other)) => one == other,
            (Self::Semver(one), Self::Semver(other)) => one.compare(other).is_eq(),
            (Self::Format(one), Self::Format(other)) => one.title == other.title,
            (Self::Authorization(one), Self::Authorization(other)) => one == other,
            _ => return None,
        })
    }
}
