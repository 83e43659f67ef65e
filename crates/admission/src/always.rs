use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Admission, Review};

use crate::refusal::forbidden;

/// `AlwaysAdmit`: admits everything.
pub(crate) struct AlwaysAdmit;

/// `AlwaysDeny`: admits nothing.
pub(crate) struct AlwaysDeny;

#[async_trait]
impl Admission for AlwaysAdmit {
    fn name(&self) -> &'static str {
        "AlwaysAdmit"
    }
}

#[async_trait]
impl Admission for AlwaysDeny {
    fn name(&self) -> &'static str {
        "AlwaysDeny"
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        Err(forbidden(review, DENIED))
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        Err(forbidden(review, DENIED))
    }
}

const DENIED: &str = "admission control is denying all modifications";
