use async_trait::async_trait;
use coracle_expression::Allowance;
use coracle_meta::Status;

use crate::Registry;

/// A pool for long evaluations, so that other requests do not wait for them.
///
/// Registry and plug-ins run on the thread that serves all requests.
#[async_trait]
pub trait ExpressionPool: Send + Sync + 'static {
    /// Runs the work when a thread is free. Dropping the future cancels work that has not started.
    ///
    /// # Errors
    /// 429 if too much work is waiting.
    async fn run(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), Status>;
}

impl Registry {
    /// Evaluates expressions: with `here` if the cost is low. If it turns out to be high, the work that `copied`
    /// returns is run from the beginning in the pool; it owns all its inputs. Without a pool, expressions are evaluated
    /// here.
    ///
    /// # Errors
    /// If too much work is waiting.
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

    /// Runs work in the pool, so that only the caller waits for it.
    pub(crate) async fn in_expression_pool<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        let Some(pool) = self.expression_pool() else { return Ok(work()) };
        let (tell, told) = tokio::sync::oneshot::channel();
        // The receiver is gone if the caller was dropped.
        pool.run(Box::new(move || drop(tell.send(work())))).await?;
        told.await.map_err(|_| Status::internal("an expression could not be evaluated: its evaluation panicked"))
    }
}

/// The result, if its cost is within the short allowance.
pub(crate) fn within_short<T>(run: impl FnOnce(&Allowance) -> T) -> Option<T> {
    let short = Allowance::short();
    let outcome = run(&short);
    (!short.is_spent()).then_some(outcome)
}
