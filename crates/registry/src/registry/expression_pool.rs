use async_trait::async_trait;
use coracle_expression::Allowance;
use coracle_meta::Status;

use crate::Registry;

/// Where work is done that takes long, so that whoever does not need it does not wait for it.
///
/// Registry and plug-ins run on the thread that answers all requests.
#[async_trait]
pub trait ExpressionPool: Send + Sync + 'static {
    /// Does the work when its turn has come. Work whose turn has not come when this is dropped is not done.
    ///
    /// # Errors
    /// 429 if too much is waiting.
    async fn run(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), Status>;
}

impl Registry {
    /// What expressions come to: `here` if that costs little; if they turn out to be costly, what `copied` makes, which
    /// owns all that they look at, and is run from the beginning elsewhere. Where there is no such place they run here.
    ///
    /// # Errors
    /// If too much is waiting.
    pub async fn evaluate<T, W>(
        &self,
        here: impl FnOnce(&Allowance) -> T,
        copied: impl FnOnce() -> W,
    ) -> Result<T, Status>
    where
        T: Send + 'static,
        W: FnOnce(&Allowance) -> T + Send + 'static,
    {
        if !self.has_expression_pool() {
            return Ok(here(&Allowance::unlimited()));
        }
        match within_short(here) {
            Some(outcome) => Ok(outcome),
            None => {
                let work = copied();
                self.in_expression_pool(move || work(&Allowance::unlimited())).await
            }
        }
    }

    /// Does work where nobody waits for it but who needs it.
    pub(crate) async fn in_expression_pool<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        let Some(pool) = self.expression_pool() else { return Ok(work()) };
        let (tell, told) = tokio::sync::oneshot::channel();
        // Who does not wait any more is told nothing.
        pool.run(Box::new(move || drop(tell.send(work())))).await?;
        told.await.map_err(|_| Status::internal("an expression could not be evaluated: its evaluation panicked"))
    }
}

/// What costs little; nothing if it does not.
pub(crate) fn within_short<T>(run: impl FnOnce(&Allowance) -> T) -> Option<T> {
    let short = Allowance::short();
    let outcome = run(&short);
    (!short.is_spent()).then_some(outcome)
}
