//! The observer: every fact that belongs on a timeline goes to the log.

use crate::book::Book;
use crate::chrome;
use crate::log::{Fact, Log};
use crate::story::Story;
use crate::summary::Summary;
use softacl_engine::probe::{Moment, Note, Object, Probe, Reaction, Submitted, Touch, Window};
use softacl_engine::{Error, Place};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Facts that are kept unless somebody says otherwise: some 220 MB of them.
pub const LIMIT: u64 = 4_000_000;

#[derive(Debug)]
pub struct Tracer {
    log: Log,
    book: Mutex<Book>,
    /// When the log began, for traces of several processes.
    began: Duration,
}

impl Tracer {
    /// An observer that keeps so many facts.
    pub fn new(limit: u64) -> Tracer {
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Tracer { log: Log::new(limit), book: Mutex::default(), began }
    }

    /// Writes the trace of everything up to now, with the summary at its end.
    pub fn write(&self, to: &mut impl io::Write) -> io::Result<Summary> {
        let story = Story::of(self.log.read());
        let summary = Summary::of(&story);
        chrome::write(&story, &summary, self.began, to)?;
        Ok(summary)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Probe for Tracer {
    fn guards(&self) -> bool {
        false
    }

    fn attached(&self, pinned: Window) {
        self.book().attach(pinned);
    }

    fn entered(&self, function: &'static str) {
        self.log.write([Fact::Entered(function)]);
    }

    fn left(&self) {
        self.log.write([Fact::Left]);
    }

    fn refused(&self, _function: &'static str, error: &Error) {
        self.log.write([Fact::Refused(error.code())]);
    }

    fn finalized(&self, _is_final: bool) {}

    fn submitted(&self, task: &Submitted<'_>) {
        let submitted = Fact::Submitted { at: task.at, name: task.name, device: task.device };
        match (task.touches, task.after, task.waits_for_a_sign) {
            ([], None, false) => self.log.write([submitted]),
            ([], None, true) => self.log.write([submitted, Fact::Waits(task.at)]),
            ([], Some(after), _) => {
                self.log.write([submitted, Fact::Waits(task.at), Fact::After(task.at, after)]);
            }
            (touches, ..) => {
                let load = self.book().load(touches);
                self.log.write([submitted, Fact::Moves(load)]);
            }
        }
    }

    fn launched(&self, lanes: &[u32], join: Option<Moment>) {
        for lane in lanes {
            self.log.write([Fact::Lane(*lane)]);
        }
        if let Some(join) = join {
            self.log.write([Fact::Waits(join)]);
        }
    }

    fn started(&self, at: Moment) {
        self.log.write([Fact::Started(at)]);
    }

    fn failed(&self, at: Moment, error: &Error) {
        self.log.write([Fact::Failed(at, error.code())]);
    }

    fn finished(&self, at: Moment) {
        self.log.write([Fact::Finished(at)]);
    }

    /// The task itself is on the timeline, from its start to its end.
    fn function_entered(&self, _at: Moment) {}
    fn function_left(&self, _at: Moment) {}

    fn dropped(&self, at: Moment) {
        self.log.write([Fact::Dropped(at)]);
    }

    fn ordered(&self, from: Moment, after: Moment) {
        self.log.write([Fact::After(from, after)]);
    }

    fn waited(&self, _at: Moment) {}

    fn acting(&self, name: &'static str, touches: &[Touch]) {
        let load = self.book().load(touches);
        self.log.write([Fact::Acting(name, load)]);
    }

    fn acted(&self, _touches: &[Touch]) {
        self.log.write([Fact::Acted]);
    }

    fn allocated(&self, place: Place, start: usize, size: usize) {
        let used = self.book().allocated(place, start, size);
        if let Some((device, bytes)) = used {
            self.log.write([Fact::Memory(device, bytes)]);
        }
    }

    fn freed(&self, _place: Place, start: usize) {
        let used = self.book().freed(start);
        if let Some((device, bytes)) = used {
            self.log.write([Fact::Memory(device, bytes)]);
        }
    }

    fn registered(&self, _start: usize, _size: usize) {}
    fn unregistered(&self, _start: usize) {}
    fn created(&self, _object: Object) {}
    fn ending(&self, _object: Object, _by_force: bool) {}

    fn cleared(&self, device: u32) {
        self.book().cleared(device);
        self.log.write([Fact::Memory(device, 0)]);
    }

    fn noted(&self, note: &Note) {
        if let Note::Blocked { waited, .. } = note {
            self.log.write([Fact::Paused(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX))]);
        }
    }

    fn touched(&self, _address: usize, _is_write: bool, _code: usize) -> Reaction {
        Reaction::PassOn
    }

    fn stepped(&self) {}
}
