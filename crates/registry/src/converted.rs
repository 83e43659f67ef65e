use coracle_meta::Status;

use crate::{Kind, Registry, Request};

/// How often code runs again that asks for what is not known yet. Each time it knows more; who asks for ever new ones
/// goes in circles.
const MOST_ROUNDS: usize = 32;

impl Registry {
    /// Runs code that may ask for objects of `kind` in other versions, or what its rules say: again, until it has all that
    /// it asks for.
    ///
    /// # Errors
    /// What the code refuses with, or the webhook; if too many rules are waiting.
    pub async fn converted<T>(
        &self,
        request: &Request,
        kind: &Kind,
        mut act: impl FnMut() -> Result<T, Status> + Send,
    ) -> Result<T, Status> {
        if !kind.may_ask() {
            return act();
        }
        for _ in 0..MOST_ROUNDS {
            let outcome = act();
            if !kind.fill(self, request).await? {
                return outcome;
            }
        }
        Err(Status::internal(format!("conversion webhook for {} went in circles", kind.gvk().kind)))
    }
}
