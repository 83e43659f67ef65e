use std::future::Future;

use futures_util::future::join_all;

/// Calls `act` `count` times, in batches of 1, 2, 4, 8, ...; stops after a batch with an error, so that an operation
/// that always fails is tried once and not a thousand times. Returns how many calls succeeded, and the first error.
///
/// In Kubernetes: `slowStartBatch`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use coracle_controller_runtime::slow_start;
///
/// let mut tried = 0;
/// let refuse = |_| {
///     tried += 1;
///     async { Err("the quota is used up") }
/// };
/// assert_eq!(slow_start(1000, refuse).await, (0, Some("the quota is used up")));
/// assert_eq!(tried, 1);
/// # });
/// ```
pub async fn slow_start<E, F>(count: usize, mut act: impl FnMut(usize) -> F) -> (usize, Option<E>)
where
    F: Future<Output = Result<(), E>>,
{
    let mut done = 0;
    let mut succeeded = 0;
    let mut batch = 1;
    while done < count {
        batch = batch.min(count - done);
        let results = join_all((done..done + batch).map(&mut act)).await;
        done += batch;
        let mut first_error = None;
        for result in results {
            match result {
                Ok(()) => succeeded += 1,
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if first_error.is_some() {
            return (succeeded, first_error);
        }
        batch *= 2;
    }
    (succeeded, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[tokio::test(start_paused = true)]
    async fn batches_double_until_one_fails() {
        let tried = RefCell::new(Vec::new());
        let act = |index: usize| {
            tried.borrow_mut().push(index);
            async move { if index == 4 { Err("quota") } else { Ok(()) } }
        };
        assert_eq!(slow_start(20, act).await, (6, Some("quota")));
        assert_eq!(*tried.borrow(), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_start_makes_no_more_calls_than_requested() {
        let (succeeded, error) = slow_start(5, |_| async { Ok::<_, ()>(()) }).await;
        assert_eq!((succeeded, error), (5, None));
        assert_eq!(slow_start(0, |_| async { Err::<(), _>(()) }).await, (0, None));
    }
}
