use std::sync::OnceLock;

use coracle_ambient::Random;
use coracle_controllers::{CertificateOrder, SignsCertificates};

use crate::authority::Authority;

/// An authority that is made when its certificate or a signature is needed first. A cluster that needs neither makes
/// none.
#[derive(Debug)]
pub struct AuthorityOnDemand {
    random: Random,
    made: OnceLock<Result<Authority, String>>,
}

impl AuthorityOnDemand {
    /// The authority whose key comes from this stream; see [`Authority::of_random`].
    pub fn new(random: Random) -> Self {
        Self { random, made: OnceLock::new() }
    }

    fn authority(&self) -> Result<&Authority, String> {
        let made = self.made.get_or_init(|| Authority::of_random(&self.random).map_err(|error| error.to_string()));
        made.as_ref().map_err(Clone::clone)
    }
}

impl SignsCertificates for AuthorityOnDemand {
    fn certificate(&self) -> Result<String, String> {
        self.authority().map(|authority| authority.certificate().to_owned())
    }

    fn sign(&self, order: &CertificateOrder) -> Result<String, String> {
        self.authority()?.sign(order)
    }
}
