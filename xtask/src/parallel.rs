//! Applies a function to many items on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Applies `work` to every item, on one thread per core. Returns the results in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    in_parallel_on(1, items, work)
}

/// Applies `work` to every item, on `per_core` threads per core. More than one suits work that mostly waits.
pub fn in_parallel_on<T: Sync, R: Send>(per_core: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = per_core * std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(item);
                    *results[index].lock().expect("written once") = Some(result);
                }
            });
        }
    });
    results
        .into_iter()
        .map(|slot| slot.into_inner().expect("written once").expect("every item was processed"))
        .collect()
}
