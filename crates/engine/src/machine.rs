//! The machine: everything that the process has one of.

use crate::context::{Context, Device};
use crate::event::Event;
use crate::exception::Exceptions;
use crate::executor::Executor;
use crate::executor::external_waits::ExternalWaits;
use crate::executor::spans::SpanPool;
use crate::executor::stepper::Stepper;
use crate::executor::worker_pool::WorkerPool;
use crate::graph::Graphs;
use crate::host::Subscriptions;
use crate::keys::{ContextKey, ContextTag, EventTag, NotifyTag, StreamKey, StreamTag};
use crate::notify::Notify;
use crate::observer::{Observer, page_guard};
use crate::pool::Pools;
use crate::schedule::Schedule;
use crate::slow_path::{Reason, ReasonGuard, Reasons};
use crate::stream::Stream;
use crate::value::Values;
use softacl_errors::{Error, Owner, Result, fail};
use softacl_faults::Injection;
use softacl_memory::Memory;
use softacl_profiles::{Cann, Form, Profile, cann, profile};
use softacl_sync::facade::{AtomicI32, Mutex, Ordering, lock};
use softacl_sync::handle::Slots;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// What a machine is made of.
#[derive(Debug, Clone)]
pub struct Config {
    pub profile: Profile,
    pub cann: &'static Cann,
    /// Numbers of the devices that the program sees, in its order: element 0 is its device 0.
    pub devices: Vec<u32>,
    /// Bytes of memory of each device.
    pub memory: usize,
    /// Bytes of pinned host memory at most; without it, what the host has.
    pub host_memory: Option<usize>,
    pub schedule: Schedule,
    /// How long a schedule puts off work of a program that relies on progress without calling us.
    pub progress_timeout: Duration,
    /// Copies whose addresses are not aligned to 64 bytes are refused, as the documents ask.
    pub strict_alignment: bool,
    /// Threads that may run at once.
    pub cores: usize,
    /// Faults on purpose.
    pub injection: Option<Arc<Injection>>,
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
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            injection: None,
        }
    }
}

pub struct Machine {
    pub(crate) config: Config,
    pub(crate) memory: Memory,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: Slots<Context, ContextTag>,
    pub(crate) streams: Slots<Stream, StreamTag>,
    /// Streams destroyed by force whose last task still runs; their slots are not free yet.
    pub(crate) destroyed: Mutex<Vec<StreamKey>>,
    /// Failures of streams that were ended before any wait returned them.
    pub(crate) unobserved: Mutex<Vec<Error>>,
    pub(crate) events: Slots<Event, EventTag>,
    pub(crate) notifies: Slots<Notify, NotifyTag>,
    /// For an observer: which values were written and waited for.
    pub(crate) values: Mutex<Values>,
    pub(crate) pools: Pools,
    pub(crate) graphs: Graphs,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) executor: Executor,
    /// Why calls take the slow path.
    pub(crate) reasons: Arc<Reasons>,
    /// The reasons that last as long as the machine.
    _permanent_reasons: Vec<ReasonGuard>,
    /// Lists of spans for batches and groups.
    pub(crate) span_pool: SpanPool,
    /// Streams that had something queued when they were last looked at. Taken under a lane's lock,
    /// never the other way round.
    pub(crate) busy: Mutex<Vec<StreamKey>>,
    pub(crate) external_waits: ExternalWaits,
    pub(crate) exceptions: Exceptions,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    /// The device that calls without a context use; -1 is none.
    default_device: AtomicI32,
    started: Instant,
    this: Weak<Machine>,
}

/// Devices at most (specification 4.2).
pub(crate) const MAX_DEVICES: usize = 64;

impl Machine {
    pub fn new(config: Config) -> Result<Arc<Machine>> {
        Machine::with_observer(config, None)
    }

    /// A machine whose facts are told to `observer`.
    pub fn with_observer(config: Config, observer: Option<Arc<dyn Observer>>) -> Result<Arc<Machine>> {
        if config.devices.len() > MAX_DEVICES {
            return fail(Error::Setup(format!(
                "{} devices were asked for, {MAX_DEVICES} are the most",
                config.devices.len()
            )));
        }
        if let Some(injection) = &config.injection {
            softacl_faults::system::install_rules(injection);
        }
        let unified = config.profile.form == Form::RootComplex;
        let host = config.host_memory.unwrap_or_else(softacl_memory::host_memory_size);
        let guard = observer.as_ref().filter(|observer| observer.guards()).map(page_guard);
        let memory = Memory::new(config.devices.len() as u32, config.memory, host, unified, guard)?;
        if let Some(observer) = &observer {
            observer.attached(memory.pinned_window());
        }
        let executor = match config.schedule {
            Schedule::Threads => Executor::Threads(WorkerPool::new(config.cores)),
            schedule => Executor::Stepped(Arc::new(Stepper::new(schedule, config.progress_timeout, config.cores))),
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
            graphs: Graphs::default(),
            subscriptions: Subscriptions::default(),
            executor,
            span_pool: SpanPool::default(),
            busy: Mutex::new(Vec::new()),
            external_waits: ExternalWaits::default(),
            exceptions: Exceptions::default(),
            observer,
            default_device: AtomicI32::new(-1),
            started: Instant::now(),
            this: this.clone(),
        }))
    }

    /// Makes faults on device addresses of this machine print a diagnosis. Only the machine that was named last is
    /// consulted.
    pub fn diagnose_faults(self: &Arc<Self>) {
        // SAFETY: the memory is inside an `Arc`, from which it cannot be moved before it is dropped: a machine is never
        // taken out of its `Arc`.
        unsafe { self.memory.diagnose_faults() };
    }

    /// Failures of tasks, for programs that asked for each.
    pub fn exceptions(&self) -> &Exceptions {
        &self.exceptions
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The device that calls without a context use from now on.
    pub fn set_default_device(&self, device: u32) -> Result<()> {
        self.device(i64::from(device))?;
        self.default_device.store(device as i32, Ordering::Relaxed);
        Ok(())
    }

    /// Calls without a context have none from now on.
    pub fn clear_default_device(&self) {
        self.default_device.store(-1, Ordering::Relaxed);
    }

    pub fn default_device(&self) -> Option<u32> {
        u32::try_from(self.default_device.load(Ordering::Relaxed)).ok()
    }

    /// Where the program's devices are in the whole machine, and back.
    pub fn logical_device(&self, user: i64) -> Result<u32> {
        self.device(user)?;
        Ok(self.config.devices[user as usize])
    }

    pub fn user_device(&self, logical: i64) -> Result<u32> {
        let position = self.config.devices.iter().position(|device| i64::from(*device) == logical);
        position.map(|user| user as u32).ok_or_else(|| Box::new(self.no_device(logical)))
    }

    /// Checks a device number of the program.
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

    pub(crate) fn is_root_complex(&self) -> bool {
        self.config.profile.form == Form::RootComplex
    }

    pub(crate) fn other_context(&self, what: &'static str, stream: &Stream, ours: ContextKey) -> Error {
        let owner = |context: ContextKey, device| Owner { context: context.index() as u32, device };
        // A stream that is refused so has a context: it is not this one.
        let theirs = owner(stream.context().unwrap_or(ours), stream.device());
        let ours = self.contexts.get(ours).map(|context| owner(ours, context.device()));
        let own = self.streams.live().find(|(_, other)| std::ptr::eq(*other, stream));
        Error::OtherContext { what, stream: own.map(|(key, _)| key.index() as u32), theirs, ours }
    }

    /// Failures of tasks that no wait has returned, of streams that live and of streams that ended.
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

    /// True if an observer or fault rules must see every call.
    #[inline]
    pub fn has_hooks(&self) -> bool {
        self.reasons.has_either(Reason::Observer, Reason::FaultRules)
    }

    /// Why calls take the slow path now, for people; empty while the fast path is open.
    pub fn slow_path_reasons(&self) -> Vec<&'static str> {
        self.reasons.names()
    }

    pub(crate) fn weak(&self) -> Weak<Machine> {
        self.this.clone()
    }

    /// Nanoseconds since the machine was made.
    pub(crate) fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}

/// The reasons for the slow path that follow from how a machine is made.
fn permanent_reasons(
    config: &Config,
    observer: Option<&dyn Observer>,
    reasons: &Arc<Reasons>,
    devices: &[Device],
) -> Vec<ReasonGuard> {
    let conditions = [
        (Reason::Schedule, config.schedule != Schedule::Threads),
        (Reason::Observer, observer.is_some()),
        (Reason::PageGuard, observer.is_some_and(Observer::guards)),
        (Reason::FaultRules, config.injection.is_some()),
        (Reason::StrictAlignment, config.strict_alignment),
        (Reason::RootComplex, config.profile.form == Form::RootComplex),
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
