//! The running programs of this user that use softacl, and what they say about themselves.

use softacl_checker::picture::Picture;
use softacl_engine::mailbox::Mailbox;
use std::thread;
use std::time::Duration;

/// Asks a process for its picture.
pub fn ask(mailbox: &Mailbox, timeout: Duration) -> Option<Picture> {
    serde_json::from_slice(&mailbox.ask(timeout)?).ok()
}

/// A running program. `T` is what it answered, `None` if it did not in time: it is stopped, or ends.
pub struct Process<T> {
    pub id: u32,
    pub answer: Option<T>,
}

/// Asks all programs at once with `ask`, in the order of their process ids. One that ended in the meantime, or has the
/// mailbox of the process that forked it, is left out.
pub fn ask_all<T: Send>(ask: impl Fn(&Mailbox) -> Option<T> + Sync, id_of: fn(&T) -> u32) -> Vec<Process<T>> {
    let ask = |id: u32| -> Option<Process<T>> {
        let answer = ask(&Mailbox::find(id)?);
        let is_its_own = answer.as_ref().is_none_or(|answer| id_of(answer) == id);
        // A process that ended while it was asked has no mailbox any more.
        (is_its_own && (answer.is_some() || Mailbox::find(id).is_some())).then_some(Process { id, answer })
    };
    let ask = &ask;
    thread::scope(|scope| {
        let asked: Vec<_> = Mailbox::processes().into_iter().map(|id| scope.spawn(move || ask(id))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    })
}
