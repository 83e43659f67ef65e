use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Calls a function for each item on several threads. The results are in the order of the items.
pub(crate) fn parallel<T: Sync, R: Send>(jobs: usize, items: &[T], call: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = call(item);
            done.lock().push((index, result));
        }
    };
    std::thread::scope(|scope| {
        (0..jobs.clamp(1, items.len().max(1))).for_each(|_| drop(scope.spawn(work)));
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_with_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        let wanted: Vec<u64> = items.iter().map(|item| item * 2).collect();
        for jobs in [0, 1, 2, 7, 1000] {
            assert_eq!(parallel(jobs, &items, |item| item * 2), wanted, "{jobs}");
        }
        assert!(parallel(2, &[], |item: &u64| *item).is_empty());
    }
}
