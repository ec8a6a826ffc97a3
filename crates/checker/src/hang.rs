//! W1: a wait that nothing can satisfy. Explains a proven hang, and reports it with the line of every wait.

use crate::checker::Checker;
use crate::finding::{FindingId, Severity};
use crate::look::Look;
use crate::state::{Evidence, PendingFinding, State};
use crate::wait_graph::{Actor, ChainEnd};
use crate::wait_text::{Explanation, Line};
use softacl_engine::observer::StreamPosition;
use softacl_engine::{Awaited, Front, StreamWait};
use std::sync::Arc;

/// Maximum number of waits outside the chain that a report lists.
const MAX_OTHERS: usize = 3;

/// A proven hang in words: the chain of waits, and how to end it.
pub(crate) struct HangText {
    pub(crate) message: String,
    pub(crate) fix: String,
    /// The waits of the chain, in order.
    pub(crate) lines: Vec<Line>,
}

/// Explains a hang. `None` if nothing waits.
pub(crate) fn explain(look: &Look, explanation: &Explanation<'_>) -> Option<HangText> {
    let graph = look.graph();
    let chain = graph.chain(*look.waiters().first()?);
    let mut lines: Vec<Line> = chain.actors.iter().map(|actor| explanation.line(look, *actor)).collect();
    let texts: Vec<String> = lines.iter().map(|line| line.text.clone()).collect();
    let end = match chain.end {
        ChainEnd::Circle(0) if chain.actors.len() == 1 => ": it waits for itself".to_owned(),
        ChainEnd::Circle(0) => ": a circle".to_owned(),
        ChainEnd::Circle(index) => format!(": the last {} are a circle", chain.actors.len() - index),
        ChainEnd::Unknown | ChainEnd::Outside | ChainEnd::Continues => String::new(),
    };
    let last = chain.actors.last().and_then(|actor| match actor {
        Actor::Stream(stream) => look.stream(*stream),
        Actor::Thread(_) => None,
    });
    let fix = match (chain.end, last.map(|state| &state.front)) {
        (ChainEnd::Circle(_), _) => {
            "break the circle: make the record, write or call that one of them waits for without \
                                     waiting for the others first"
                .to_owned()
        }
        (_, Some(Front::Waits(wait))) => remedy(wait),
        _ => "let the thread that the stream waits for continue".to_owned(),
    };
    let mut message = format!("no thread of the program can continue: {}{end}", texts.join("; "));
    let others = look.waiters().into_iter().filter(|actor| !chain.actors.contains(actor)).take(MAX_OTHERS);
    for line in others.map(|other| explanation.line(look, other)) {
        message += &format!("; also, {}", line.text);
        lines.push(line);
    }
    Some(HangText { message, fix, lines })
}

/// What would have ended a wait that nothing ends.
fn remedy(wait: &StreamWait) -> String {
    match wait.on {
        Awaited::Notify { id: None, .. } => "destroy the notify after the streams that wait for it have passed",
        Awaited::Notify { .. } => "record the notify once for every wait (aclrtRecordNotify), on a stream that can run",
        Awaited::Value { .. } => "write the value (aclrtValueWrite, or a copy) on a stream that can run",
        Awaited::NextRecord { .. } | Awaited::GraphEvent { .. } => {
            "record the event (aclrtRecordEvent) on another stream, before or after the wait"
        }
        Awaited::Operation { .. } => {
            "let every rank call the same operators in the same order, on streams that can run: the other ranks are in \
             this process, too"
        }
        _ => "make what the stream waits for, on a stream that can run",
    }
    .to_owned()
}

impl Checker {
    /// Reports that the program hangs, which `look` and an earlier look have proven. Returns `false` if the state of the
    /// checker cannot be accessed.
    pub fn report_hang(&self, look: &Look) -> bool {
        self.mark_hang();
        let Some(mut state) = self.last_state() else { return false };
        let Some(text) = state.with_explanation(|explanation| explain(look, explanation)) else { return false };
        let mut evidence: Vec<Evidence> = Vec::new();
        for line in text.lines {
            let roles = [("waits here", line.operation), ("would end it", line.satisfied_by)];
            for (role, operation) in roles.into_iter().filter_map(|(role, operation)| Some((role, operation?))) {
                if !evidence.iter().any(|known| Arc::ptr_eq(&known.operation, &operation)) {
                    evidence.push(Evidence { role, operation, ranges: Vec::new() });
                }
            }
        }
        let (id, severity) = (FindingId::W1, Severity::Proven);
        state.add_finding(PendingFinding { id, severity, message: text.message, fix: text.fix, count: 1, evidence });
        true
    }
}

impl State {
    /// Passes on what the checker knows about waits.
    pub(crate) fn with_explanation<T>(&self, use_it: impl FnOnce(&Explanation<'_>) -> T) -> T {
        let task = |at: StreamPosition| {
            let tasks = &self.progress.get(&at.stream)?.in_flight;
            let index = tasks.partition_point(|task| task.at.sequence < at.sequence);
            tasks.get(index).filter(|task| task.at == at).map(|task| task.operation.clone())
        };
        use_it(&Explanation { records: Some(&self.wait_records), task: &task })
    }
}
