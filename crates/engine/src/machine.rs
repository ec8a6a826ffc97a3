//! The machine: everything that exists once per process.
//!
//! It owns the objects and decides little. What happens to an object is in the module of that object.

use crate::blocked::BlockedThreads;
use crate::context::{Context, Device};
use crate::event::Event;
use crate::exception::Exceptions;
use crate::executor::Executor;
use crate::executor::clock::Timing;
use crate::executor::decisions::Replay;
use crate::executor::external_waits::ExternalWaits;
use crate::executor::spans::SpanPool;
use crate::executor::stepper::Stepper;
use crate::executor::worker_pool::WorkerPool;
use crate::graph::Graphs;
use crate::hooks::Hooks;
use crate::host::Subscriptions;
use crate::keys::{ContextKey, ContextTag, EventTag, NotifyTag, StreamKey, StreamTag};
use crate::last_task::LastTasks;
use crate::managed::ManagedMemory;
use crate::notify::Notify;
use crate::observer::{Observer, page_guard};
use crate::pool::Pools;
use crate::schedule::Schedule;
use crate::slow_path::{Reason, ReasonGuard, Reasons};
use crate::stream::Stream;
use crate::value::Values;
use softacl_errors::{Error, Owner, Result, fail};
use softacl_faults::Injection;
use softacl_memory::{Memory, MemoryKind};
use softacl_profiles::{Cann, Profile, cann, profile};
use softacl_sync::facade::{AtomicI32, AtomicU32, Mutex, Ordering, lock};
use softacl_sync::handle::Slots;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Everything that a machine is created from.
#[derive(Debug, Clone)]
pub struct Config {
    pub profile: Profile,
    pub cann: &'static Cann,
    /// Physical ids of the devices that the program uses, in program order: element 0 is its device 0.
    pub devices: Vec<u32>,
    /// Memory of each device, in bytes.
    pub memory: usize,
    /// Limit of pinned host memory, in bytes. `None` is the memory of the host.
    pub host_memory: Option<usize>,
    pub schedule: Schedule,
    /// How long a stepped schedule defers ready work while the program makes no call.
    pub progress_timeout: Duration,
    /// Refuses copies whose addresses are not aligned as the documentation of the emulated version requires.
    pub strict_alignment: bool,
    /// Requires peer access in both directions, and refuses copies without it at the call.
    pub strict_peer: bool,
    /// Number of threads that can run in parallel.
    pub cores: usize,
    /// Fault injection, if enabled.
    pub injection: Option<Arc<Injection>>,
    /// The order of [`Schedule::Replay`].
    pub replay: Option<Arc<Replay>>,
    /// The virtual clock of [`Schedule::Timed`].
    pub timing: Option<Timing>,
}

impl Default for Config {
    fn default() -> Self {
        let profile = profile(None, None).expect("the default chip exists");
        Config {
            memory: (profile.chip.memory_gib as usize) << 30,
            host_memory: None,
            profile,
            cann: cann(None).expect("a default version exists"),
            devices: vec![0, 1],
            schedule: Schedule::Threads,
            progress_timeout: Duration::from_millis(250),
            strict_alignment: false,
            strict_peer: false,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            injection: None,
            replay: None,
            timing: None,
        }
    }
}

/// The simulated machine.
pub struct Machine {
    pub(crate) config: Config,
    pub(crate) memory: Memory,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: Slots<Context, ContextTag>,
    pub(crate) streams: Slots<Stream, StreamTag>,
    /// Forcibly destroyed streams whose last task still runs. Their slots are not free yet.
    pub(crate) destroyed: Mutex<Vec<StreamKey>>,
    /// Failures of streams that ended before a wait returned them.
    pub(crate) unobserved: Mutex<Vec<Error>>,
    pub(crate) events: Slots<Event, EventTag>,
    pub(crate) notifies: Slots<Notify, NotifyTag>,
    /// Pairs of value writes and value waits. Used only with an observer.
    pub(crate) values: Mutex<Values>,
    pub(crate) pools: Pools,
    pub(crate) managed: ManagedMemory,
    pub(crate) graphs: Graphs,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) executor: Executor,
    /// Reasons that close the fast path.
    pub(crate) reasons: Arc<Reasons>,
    /// Reasons that last as long as the machine.
    _permanent_reasons: Vec<ReasonGuard>,
    /// Recycled span lists for batches and coalesced copies.
    pub(crate) span_pool: SpanPool,
    /// Streams that had queued tasks when last checked. Lock order: taken under a lane lock, never the other way round.
    pub(crate) busy: Mutex<Vec<StreamKey>>,
    pub(crate) external_waits: ExternalWaits,
    pub(crate) blocked: BlockedThreads,
    pub(crate) exceptions: Exceptions,
    pub(crate) hooks: Hooks,
    pub(crate) last_tasks: LastTasks,
    /// Set at most once: when the machine is created, or when an observer that only records is attached.
    observer: OnceLock<Arc<dyn Observer>>,
    /// The device of calls without a context; -1 is none.
    default_device: AtomicI32,
    /// Seconds that a stream may wait for an event; 0 is no limit.
    event_wait_limit: AtomicU32,
    started: Instant,
    this: Weak<Machine>,
}

/// An attached observer receives everything while this exists.
#[derive(Debug)]
pub struct Observation {
    _reason: ReasonGuard,
}

/// Maximum number of devices (specification 4.2).
pub(crate) const MAX_DEVICES: usize = 64;

impl Machine {
    /// Creates a machine without an observer.
    pub fn new(config: Config) -> Result<Arc<Machine>> {
        Machine::with_observer(config, None)
    }

    /// Creates a machine that reports to `observer`.
    pub fn with_observer(config: Config, observer: Option<Arc<dyn Observer>>) -> Result<Arc<Machine>> {
        if config.devices.len() > MAX_DEVICES {
            return fail(Error::Setup(format!(
                "{} devices were requested, at most {MAX_DEVICES} are possible",
                config.devices.len()
            )));
        }
        if let Some(injection) = &config.injection {
            softacl_faults::system::install_rules(injection);
        }
        let unified = config.profile.form.is_on_chip();
        let host = config.host_memory.unwrap_or_else(softacl_memory::host_memory_size);
        let guard = observer.as_ref().filter(|observer| observer.guards()).map(page_guard);
        let memory = Memory::new(config.devices.len() as u32, config.memory, host, unified, guard)?;
        if let Some(observer) = &observer {
            observer.attached(memory.pinned_window());
        }
        let executor = match config.schedule {
            Schedule::Threads => Executor::Threads(WorkerPool::new(config.cores)),
            schedule => Executor::Stepped(Arc::new(Stepper::new(
                schedule,
                config.progress_timeout,
                config.cores,
                config.replay.as_ref(),
                config.timing.as_ref().map(|timing| (timing, config.profile.soc.as_str())),
            ))),
        };
        softacl_memory::bytes::prepare();
        let devices: Vec<Device> = config.devices.iter().map(|_| Device::default()).collect();
        let reasons = Arc::new(Reasons::default());
        let _permanent_reasons = permanent_reasons(&config, observer.as_deref(), &reasons, &devices);
        Ok(Arc::new_cyclic(|this| Machine {
            devices,
            reasons,
            _permanent_reasons,
            config,
            memory,
            contexts: Slots::default(),
            streams: Slots::default(),
            destroyed: Mutex::new(Vec::new()),
            unobserved: Mutex::new(Vec::new()),
            events: Slots::default(),
            notifies: Slots::default(),
            values: Mutex::default(),
            pools: Pools::default(),
            managed: ManagedMemory::default(),
            graphs: Graphs::default(),
            subscriptions: Subscriptions::default(),
            executor,
            span_pool: SpanPool::default(),
            busy: Mutex::new(Vec::new()),
            external_waits: ExternalWaits::default(),
            blocked: BlockedThreads::default(),
            exceptions: Exceptions::default(),
            hooks: Hooks::default(),
            last_tasks: LastTasks::default(),
            observer: observer.map_or_else(OnceLock::new, OnceLock::from),
            default_device: AtomicI32::new(-1),
            event_wait_limit: AtomicU32::new(0),
            started: Instant::now(),
            this: this.clone(),
        }))
    }

    /// The observer, if one is attached.
    #[inline]
    pub fn observer(&self) -> Option<&dyn Observer> {
        self.observer.get().map(|observer| &**observer)
    }

    /// Attaches an observer while the machine runs, and reports to it until the result is dropped. Then it stays
    /// attached but receives little, and can be attached again. `None` if another observer is attached, or if it
    /// protects pages, which must be prepared when the machine is created.
    pub fn attach_observer(&self, observer: &Arc<dyn Observer>) -> Option<Observation> {
        if observer.guards() {
            return None;
        }
        // First the reason: an observer must not miss calls on the fast path.
        let reason = self.reasons.hold(Reason::Observer);
        let is_first = self.observer.set(Arc::clone(observer)).is_ok();
        let attached = self.observer.get()?;
        if is_first {
            observer.attached(self.memory.pinned_window());
            for device in 0..self.devices.len() as u32 {
                let place = MemoryKind::Device(device);
                self.memory
                    .device(device)
                    .live()
                    .iter()
                    .for_each(|live| observer.allocated(place, live.start, live.size));
            }
        }
        std::ptr::addr_eq(Arc::as_ptr(attached), Arc::as_ptr(observer)).then_some(Observation { _reason: reason })
    }

    /// Makes faults on device addresses of this machine print a diagnosis. Only the most recently named machine is
    /// diagnosed.
    pub fn diagnose_faults(self: &Arc<Self>) {
        // SAFETY: the memory must not move before it is dropped. It is a field of a machine, `with_observer` puts every
        // machine into an `Arc`, and a machine is never taken out of its `Arc`.
        unsafe { self.memory.diagnose_faults() };
    }

    /// Failed tasks, recorded one by one while the program enables it.
    pub fn exceptions(&self) -> &Exceptions {
        &self.exceptions
    }

    /// Functions of the program that are called when streams and devices come and go.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// The configuration that the machine was created from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Sets the device of calls without a context.
    pub fn set_default_device(&self, device: u32) -> Result<()> {
        self.device(i64::from(device))?;
        self.default_device.store(device as i32, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the default device: calls without a context fail again.
    pub fn clear_default_device(&self) {
        self.default_device.store(-1, Ordering::Relaxed);
    }

    /// The device of calls without a context, if one is configured.
    pub fn default_device(&self) -> Option<u32> {
        u32::try_from(self.default_device.load(Ordering::Relaxed)).ok()
    }

    /// Limits how long a stream waits for an event, for waits that are submitted from now on. 0 is no limit.
    pub fn limit_event_waits(&self, seconds: u32) {
        self.event_wait_limit.store(seconds, Ordering::Relaxed);
    }

    /// The limit of waits for events, if there is one.
    pub(crate) fn event_wait_limit(&self) -> Option<Duration> {
        let seconds = self.event_wait_limit.load(Ordering::Relaxed);
        (seconds != 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Translates a device id of the program to its physical id.
    pub fn logical_device(&self, user: i64) -> Result<u32> {
        self.device(user)?;
        Ok(self.config.devices[user as usize])
    }

    /// Translates a physical device id to the id that the program uses.
    pub fn user_device(&self, logical: i64) -> Result<u32> {
        let position = self.config.devices.iter().position(|device| i64::from(*device) == logical);
        position.map(|user| user as u32).ok_or_else(|| Box::new(self.no_device(logical)))
    }

    /// Looks up a device by the id that the program uses.
    pub(crate) fn device(&self, given: i64) -> Result<&Device> {
        usize::try_from(given)
            .ok()
            .and_then(|index| self.devices.get(index))
            .ok_or_else(|| Box::new(self.no_device(given)))
    }

    pub(crate) fn no_device(&self, given: i64) -> Error {
        Error::Device { given, count: self.devices.len() as u32 }
    }

    pub(crate) fn unsupported(&self, what: &'static str) -> Error {
        Error::Unsupported { what, soc: self.config.profile.soc.clone() }
    }

    /// True if the program runs on the chip (root complex or control CPU), where host and device memory are one.
    pub(crate) fn is_on_chip(&self) -> bool {
        self.config.profile.form.is_on_chip()
    }

    /// Gives the failure of a queued task the code of this chip, if the device could not execute it. What a call would
    /// refuse with its own code is then one of the reasons.
    #[cold]
    pub(crate) fn as_task_failure(&self, error: Error) -> Error {
        let reason = match error {
            Error::DeviceCopy(reason) => reason,
            Error::Inaccessible { .. } | Error::NoPeerAccess { .. } => error.to_string(),
            other => return other,
        };
        match self.config.profile.chip.copy.failure_code {
            ascendcl_sys::ACL_ERROR_RT_TS_ERROR => Error::DeviceTask(reason),
            _ => Error::DeviceCopy(reason),
        }
    }

    /// Builds the error for a stream that belongs to another context than `ours`.
    pub(crate) fn other_context(&self, what: &'static str, stream: &Stream, ours: ContextKey) -> Error {
        let owner = |context: ContextKey, device| Owner { context: context.index() as u32, device };
        // A stream that is refused for this reason has a context, so the fallback is never used.
        let theirs = owner(stream.context().unwrap_or(ours), stream.device());
        let ours = self.contexts.get(ours).map(|context| owner(ours, context.device()));
        let own = self.streams.live().find(|(_, other)| std::ptr::eq(*other, stream));
        Error::OtherContext { what, stream: own.map(|(key, _)| key.index() as u32), theirs, ours }
    }

    /// Failures of tasks that no wait has returned, including those of ended streams.
    pub fn unobserved_failures(&self) -> Vec<Error> {
        let mut all = lock(&self.unobserved).clone();
        all.extend(self.streams.live().filter_map(|(_, stream)| stream.failure()));
        all
    }

    /// True if no reason closes the fast path.
    #[inline]
    pub(crate) fn is_fast_path_open(&self) -> bool {
        self.reasons.is_empty()
    }

    /// True if an observer, fault rules or a virtual clock must process every call.
    #[inline]
    pub fn has_hooks(&self) -> bool {
        self.reasons.has_any([Reason::Observer, Reason::FaultRules, Reason::VirtualClock])
    }

    /// Names of the reasons that close the fast path, for messages. Empty while it is open.
    pub fn slow_path_reasons(&self) -> Vec<&'static str> {
        self.reasons.names()
    }

    pub(crate) fn weak(&self) -> Weak<Machine> {
        self.this.clone()
    }

    /// Nanoseconds since the machine was created.
    pub(crate) fn real_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// When the machine was created.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }
}

/// Holds the reasons that follow from the configuration.
fn permanent_reasons(
    config: &Config,
    observer: Option<&dyn Observer>,
    reasons: &Arc<Reasons>,
    devices: &[Device],
) -> Vec<ReasonGuard> {
    let conditions = [
        (Reason::Schedule, config.schedule != Schedule::Threads),
        (Reason::Observer, observer.is_some()),
        (Reason::VirtualClock, config.timing.is_some()),
        (Reason::PageGuard, observer.is_some_and(Observer::guards)),
        (Reason::FaultRules, config.injection.is_some()),
        (Reason::StrictAlignment, config.strict_alignment && config.cann.copy_alignment > 1),
        (Reason::OnChip, config.profile.form.is_on_chip()),
    ];
    let held = conditions.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reasons.hold(reason));
    let rules = devices.iter().filter(|_| config.injection.is_some());
    held.chain(rules.map(|device| reasons.hold_for(&device.reasons, Reason::FaultRules))).collect()
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Executor::Stepped(stepper) = &self.executor {
            stepper.stop();
        }
    }
}
