//! Waits for other processes: streams whose front waits for an event that another process records.
//!
//! Nobody tells us when that happens, so one thread looks, as long as anybody waits.

use crate::machine::Machine;
use crate::memory::shared::SharedCounters;
use crate::stream::StreamKey;
use crate::stream::bell::Bell;
use crate::sync::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

/// How often the thread looks; a wake-up costs about as much.
const INTERVAL: Duration = Duration::from_micros(100);

pub(crate) struct Outside {
    shared: Arc<Shared>,
    start: Once,
}

#[derive(Default)]
struct Shared {
    waits: Mutex<Vec<(StreamKey, Arc<SharedCounters>, u64)>>,
    bell: Bell,
    stop: AtomicBool,
}

impl Default for Outside {
    fn default() -> Self {
        Outside { shared: Arc::default(), start: Once::new() }
    }
}

impl Outside {
    /// Lists a stream when a record of another process is reached.
    pub(crate) fn watch(&self, machine: &Machine, stream: StreamKey, counters: Arc<SharedCounters>, record: u64) {
        lock(&self.shared.waits).push((stream, counters, record));
        self.shared.bell.ring();
        self.start.call_once(|| {
            let (shared, weak) = (Arc::clone(&self.shared), machine.weak());
            let run = move || {
                loop {
                    shared
                        .bell
                        .sleep_until(None, || shared.stop.load(Ordering::Acquire) || !lock(&shared.waits).is_empty());
                    if shared.stop.load(Ordering::Acquire) {
                        return;
                    }
                    let Some(machine) = weak.upgrade() else { return };
                    shared.look(&machine);
                    drop(machine);
                    std::thread::park_timeout(INTERVAL);
                }
            };
            if let Err(error) = crate::thread::start("softacl-outside".to_owned(), run) {
                eprintln!("softacl: could not start the thread that waits for other processes: {error}");
            }
        });
    }
}

impl Shared {
    fn look(&self, machine: &Machine) {
        let mut over = Vec::new();
        lock(&self.waits).retain(|(stream, counters, record)| {
            let reached = counters.has_reached(*record);
            if reached {
                over.push(*stream);
            }
            !reached
        });
        for stream in over {
            machine.list(stream);
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.bell.ring();
    }
}

/// Waits on this thread for a record of another process; `false` when `deadline` came first.
pub(crate) fn wait(counters: &SharedCounters, record: u64, deadline: Option<Instant>) -> bool {
    while !counters.has_reached(record) {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return false;
        }
        std::thread::park_timeout(INTERVAL);
    }
    true
}
