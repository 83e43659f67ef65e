use coracle_meta::Status;

use crate::{Kind, Planned, Registry, Request, Unplanned};

/// How often the same code runs again. Each time it has more answers; code that asks something new each time would never
/// end.
const MOST_ROUNDS: usize = 32;

impl Registry {
    /// Runs `plan` until it has a result: whenever it needs answers about objects of `kind`, the conversion webhook and
    /// the expression pool give them, and `plan` runs again.
    ///
    /// # Errors
    /// The refusal of `plan` or of the webhook; 429 if the expression pool has no room.
    pub async fn planned<T>(
        &self,
        request: &Request,
        kind: &Kind,
        mut plan: impl FnMut() -> Planned<T> + Send,
    ) -> Result<T, Status> {
        for _ in 0..MOST_ROUNDS {
            match plan() {
                Ok(done) => return Ok(done),
                Err(Unplanned::Refused(status)) => return Err(status),
                Err(Unplanned::Needs(questions)) => kind.ask(self, request, questions).await?,
            }
        }
        let kind = &kind.gvk().kind;
        Err(Status::internal(format!("objects of kind {kind} needed answers in {MOST_ROUNDS} rounds, and more")))
    }
}
