//! The wait-for graph: which threads and streams can still continue, and why the others cannot. A pure data structure;
//! `hang` fills it from what the engine and the system say.
//!
//! A missed hang is better than a false one. Therefore a thread that can continue may do anything: it ends every wait
//! that is not bound to a particular stream or thread.

use std::collections::{BTreeMap, BTreeSet};

/// A thread, by the id that the system gives it, or a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Actor {
    Thread(i32),
    Stream(u32),
}

/// What ends the wait of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndsWith {
    /// It does not wait, or the wait ends automatically.
    Itself,
    /// Something outside of the process may end it.
    Outside,
    /// The progress of one of these.
    Actors(Vec<Actor>),
    /// Any other actor may end it.
    Anyone,
}

/// The wait of an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) ends_with: EndsWith,
    /// Who is expected to end it. Explains the wait, and decides nothing.
    pub(crate) expected: Vec<Actor>,
}

/// All actors and their waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WaitGraph(BTreeMap<Actor, Wait>);

/// A path through the graph, from an actor to what it ultimately waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) actors: Vec<Actor>,
    pub(crate) end: ChainEnd,
}

/// Where a path ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChainEnd {
    /// The last actor waits for the one at this index.
    Circle(usize),
    /// It is not known what would end the last wait.
    Unknown,
    /// The last actor waits for something outside of the process.
    Outside,
    /// The last actor can continue.
    Continues,
}

impl WaitGraph {
    pub(crate) fn insert(&mut self, actor: Actor, ends_with: EndsWith, expected: Vec<Actor>) {
        self.0.insert(actor, Wait { ends_with, expected });
    }

    /// The actors that can continue now or later. An actor that is absent is finished and ends nothing.
    pub(crate) fn live(&self) -> BTreeSet<Actor> {
        let mut live = BTreeSet::new();
        loop {
            let before = live.len();
            for (actor, wait) in &self.0 {
                let continues = match &wait.ends_with {
                    EndsWith::Itself | EndsWith::Outside => true,
                    EndsWith::Actors(actors) => actors.iter().any(|other| live.contains(other)),
                    EndsWith::Anyone => live.iter().any(|other| other != actor),
                };
                if continues {
                    live.insert(*actor);
                }
            }
            if live.len() == before {
                return live;
            }
        }
    }

    /// True if no actor can ever continue, and a stream is among them.
    pub(crate) fn is_dead(&self) -> bool {
        self.0.keys().any(|actor| matches!(actor, Actor::Stream(_))) && self.live().is_empty()
    }

    /// Follows the waits from an actor.
    pub(crate) fn chain(&self, from: Actor) -> Chain {
        let mut actors = vec![from];
        loop {
            let last = actors[actors.len() - 1];
            let end = match self.0.get(&last) {
                None | Some(Wait { ends_with: EndsWith::Itself, .. }) => ChainEnd::Continues,
                Some(Wait { ends_with: EndsWith::Outside, expected }) if expected.is_empty() => ChainEnd::Outside,
                Some(wait) => {
                    let bound = if let EndsWith::Actors(actors) = &wait.ends_with { actors.as_slice() } else { &[] };
                    match wait.expected.iter().chain(bound).next() {
                        None => ChainEnd::Unknown,
                        Some(next) => match actors.iter().position(|actor| actor == next) {
                            Some(index) => ChainEnd::Circle(index),
                            None => {
                                actors.push(*next);
                                continue;
                            }
                        },
                    }
                }
            };
            return Chain { actors, end };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Actor::{Stream, Thread};

    fn graph(waits: &[(Actor, EndsWith, &[Actor])]) -> WaitGraph {
        let mut graph = WaitGraph::default();
        for (actor, ends_with, expected) in waits {
            graph.insert(*actor, ends_with.clone(), expected.to_vec());
        }
        graph
    }

    fn on(actor: Actor) -> EndsWith {
        EndsWith::Actors(vec![actor])
    }

    #[test]
    fn circle_of_streams_is_dead_if_every_thread_waits() {
        let dead = graph(&[
            (Thread(1), on(Stream(1)), &[]),
            (Stream(1), EndsWith::Anyone, &[Stream(2)]),
            (Stream(2), EndsWith::Anyone, &[Stream(1)]),
        ]);
        assert!(dead.is_dead());
        let chain = dead.chain(Thread(1));
        assert_eq!(chain.actors, [Thread(1), Stream(1), Stream(2)]);
        assert_eq!(chain.end, ChainEnd::Circle(1));
    }

    #[test]
    fn thread_that_can_continue_keeps_every_open_wait_alive() {
        let waits = [
            (Thread(1), on(Stream(1)), &[][..]),
            (Stream(1), EndsWith::Anyone, &[][..]),
            (Thread(2), EndsWith::Anyone, &[][..]),
        ];
        assert!(graph(&waits).is_dead());
        for continues in [EndsWith::Itself, EndsWith::Outside] {
            let mut waits = waits.to_vec();
            waits.push((Thread(3), continues, &[]));
            let graph = graph(&waits);
            assert!(!graph.is_dead());
            assert_eq!(graph.live().len(), 4, "everything may continue");
        }
    }

    #[test]
    fn wait_for_a_particular_stream_is_not_ended_by_others() {
        let graph = graph(&[
            (Thread(1), on(Stream(1)), &[]),
            (Stream(1), on(Stream(2)), &[]),
            (Stream(2), on(Stream(1)), &[]),
            (Thread(2), EndsWith::Itself, &[]),
        ]);
        assert_eq!(graph.live(), BTreeSet::from([Thread(2)]));
        assert!(!graph.is_dead(), "a thread of the program still runs, and may end the streams by force");
    }

    #[test]
    fn threads_without_streams_are_no_hang_of_the_runtime() {
        assert!(!graph(&[(Thread(1), EndsWith::Anyone, &[])]).is_dead());
        assert!(!WaitGraph::default().is_dead());
    }

    #[test]
    fn stream_that_waits_for_itself_is_a_circle_of_one() {
        let graph = graph(&[(Thread(7), on(Stream(3)), &[]), (Stream(3), on(Thread(7)), &[])]);
        assert!(graph.is_dead());
        assert_eq!(graph.chain(Thread(7)).end, ChainEnd::Circle(0));
        assert_eq!(graph.chain(Stream(3)).actors, [Stream(3), Thread(7)]);
    }

    #[test]
    fn chain_ends_with_what_is_known() {
        let graph = graph(&[
            (Stream(1), EndsWith::Anyone, &[]),
            (Stream(2), EndsWith::Outside, &[]),
            (Stream(3), on(Stream(4)), &[]),
            (Stream(4), EndsWith::Itself, &[]),
            (Stream(5), on(Stream(6)), &[]),
        ]);
        assert_eq!(graph.chain(Stream(1)).end, ChainEnd::Unknown);
        assert_eq!(graph.chain(Stream(2)).end, ChainEnd::Outside);
        assert_eq!(graph.chain(Stream(3)), Chain { actors: vec![Stream(3), Stream(4)], end: ChainEnd::Continues });
        assert_eq!(graph.chain(Stream(5)).end, ChainEnd::Continues, "an absent actor is finished");
    }
}
