//! Orders: which step of the program and of its streams comes when, as data and as text.
//!
//! A program that runs under a replayed schedule is a sequence of *steps*. An [`Actor`] makes one: the host, whose steps
//! are API calls and the code between two of them, or a stream, whose steps are its tasks. A [`Footprint`] is what a
//! step depends on; two steps without a conflict can be exchanged without any effect. An [`Order`] says what to choose
//! where several actors can make a step, and is the contents of the file that `replay:FILE` names. How it is carried
//! out is in `executor::replay`; how orders are enumerated is not part of the engine.

use crate::observer::{Mode, Touch};
use std::fmt;
use std::str::FromStr;

/// Who makes a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Actor {
    /// Before the host in every list: without an order, tasks run as soon as they can.
    Stream(u32),
    Host,
}

/// A step, by its number: the task of a stream, or the steps of the host counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    pub actor: Actor,
    pub number: u64,
}

/// What a step depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footprint {
    pub touches: Vec<Touch>,
    /// Tasks of which the host asked whether they are done.
    pub queried: Vec<Step>,
    /// Notifies that are recorded, waited for or reset.
    pub notifies: Vec<u64>,
    /// Streams whose tasks are dropped.
    pub drops: Vec<u32>,
    /// Steps that must precede this one. They order steps but are no conflict: they can never be exchanged.
    pub after: Vec<Step>,
    /// Code of the program runs between two calls.
    pub is_host_code: bool,
    /// A host function runs. What it accesses is not known.
    pub is_function: bool,
    /// Host memory is accessed that no page guard protects.
    pub is_unguarded: bool,
    /// Pinned host memory is accessed.
    pub is_pinned: bool,
    /// The step waits for a condition, which other steps can make true or false.
    pub is_wait: bool,
    /// Everything may depend on it: a failure, or a step of a graph that decides what follows.
    pub is_global: bool,
}

impl Footprint {
    /// True if the order of two steps of different actors can have an effect.
    pub fn conflicts(&self, own: Step, other: &Footprint, others: Step) -> bool {
        if self.is_global || other.is_global {
            return true;
        }
        let touches_host = |one: &Footprint| one.is_host_code || one.is_function;
        let depends_on_code = |one: &Footprint| one.is_function || one.is_unguarded;
        (touches_host(self) && depends_on_code(other))
            || (touches_host(other) && depends_on_code(self))
            || (self.is_function && other.is_pinned)
            || (other.is_function && self.is_pinned)
            || self.queried.contains(&others)
            || other.queried.contains(&own)
            || self.notifies.iter().any(|notify| other.notifies.contains(notify))
            || self.drops.iter().any(|stream| others.actor == Actor::Stream(*stream))
            || other.drops.iter().any(|stream| own.actor == Actor::Stream(*stream))
            || self.touches.iter().any(|one| other.touches.iter().any(|two| overlap(one, two)))
    }

    /// Adds what another footprint contains.
    pub fn extend(&mut self, other: Footprint) {
        self.touches.extend(other.touches);
        self.queried.extend(other.queried);
        self.notifies.extend(other.notifies);
        self.drops.extend(other.drops);
        self.after.extend(other.after);
        self.is_host_code |= other.is_host_code;
        self.is_function |= other.is_function;
        self.is_unguarded |= other.is_unguarded;
        self.is_pinned |= other.is_pinned;
        self.is_wait |= other.is_wait;
        self.is_global |= other.is_global;
    }
}

fn overlap(one: &Touch, two: &Touch) -> bool {
    (one.mode == Mode::Write || two.mode == Mode::Write)
        && one.address < two.address + two.len
        && two.address < one.address + one.len
}

/// What to choose where several actors can make a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Order {
    /// The choices at the start of the program, one per step.
    pub choices: Vec<Actor>,
    /// Steps that lead only to orders that were run already. They count from the last choice on, until a step that
    /// conflicts with them.
    pub asleep: Vec<(Step, Footprint)>,
    /// Tasks that run only after another step.
    pub constraints: Vec<Constraint>,
    /// Choices by random priorities.
    pub random: Option<RandomPriorities>,
    /// Every call is kept for the report, with its source location.
    pub is_narrated: bool,
}

/// A task that runs only after another step. It is ignored where nothing else can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constraint {
    pub task: Step,
    pub after: Step,
}

/// Random priorities of actors that change `depth - 1` times within `steps` steps (probabilistic concurrency testing).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomPriorities {
    pub seed: u64,
    pub depth: u32,
    pub steps: u64,
}

impl FromStr for Order {
    type Err = String;

    /// Parses the lines of an order. Text after `#` is a comment.
    fn from_str(text: &str) -> Result<Order, String> {
        let mut order = Order::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            order.add(line).ok_or_else(|| format!("line {}: {line:?} is not part of an order", index + 1))?;
        }
        Ok(order)
    }
}

impl Order {
    fn add(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        match words.next() {
            None => {}
            Some("choose") => self.choices.push(words.next()?.parse().ok()?),
            Some("asleep") => {
                let step = words.next()?.parse().ok()?;
                self.asleep.push((step, words.collect::<Vec<_>>().join(" ").parse().ok()?));
            }
            Some("task") => {
                let task = words.next()?.parse().ok()?;
                words.next().filter(|word| *word == "after")?;
                self.constraints.push(Constraint { task, after: words.next()?.parse().ok()? });
            }
            Some("random") => {
                let mut number = || words.next()?.parse::<u64>().ok();
                let (seed, depth, steps) = (number()?, u32::try_from(number()?).ok()?, number()?);
                self.random = Some(RandomPriorities { seed, depth, steps });
            }
            Some("narrate") => self.is_narrated = true,
            Some(_) => return None,
        }
        Some(())
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.choices.iter().try_for_each(|actor| writeln!(f, "choose {actor}"))?;
        self.asleep.iter().try_for_each(|(step, footprint)| writeln!(f, "asleep {step}{footprint}"))?;
        self.constraints.iter().try_for_each(|constraint| writeln!(f, "{constraint}"))?;
        if let Some(RandomPriorities { seed, depth, steps }) = self.random {
            writeln!(f, "random {seed} {depth} {steps}")?;
        }
        if self.is_narrated {
            writeln!(f, "narrate")?;
        }
        Ok(())
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} after {}", self.task, self.after)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Host => f.write_str("host"),
            Actor::Stream(stream) => write!(f, "{stream}"),
        }
    }
}

impl FromStr for Actor {
    type Err = ();

    fn from_str(text: &str) -> Result<Actor, ()> {
        match text {
            "host" => Ok(Actor::Host),
            _ => text.parse().map(Actor::Stream).map_err(|_| ()),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.actor, self.number)
    }
}

impl FromStr for Step {
    type Err = ();

    fn from_str(text: &str) -> Result<Step, ()> {
        let (actor, number) = text.split_once('.').ok_or(())?;
        Ok(Step { actor: actor.parse()?, number: number.parse().map_err(|_| ())? })
    }
}

/// Every part is a word with a leading blank, so that an empty footprint is an empty text.
impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for touch in &self.touches {
            let mode = if touch.mode == Mode::Write { 'w' } else { 'r' };
            write!(f, " {mode}:{:x}+{:x}", touch.address, touch.len)?;
        }
        self.queried.iter().try_for_each(|step| write!(f, " q:{step}"))?;
        self.notifies.iter().try_for_each(|notify| write!(f, " n:{notify:x}"))?;
        self.drops.iter().try_for_each(|stream| write!(f, " d:{stream}"))?;
        self.after.iter().try_for_each(|step| write!(f, " a:{step}"))?;
        let flags = [
            (self.is_host_code, " code"),
            (self.is_function, " function"),
            (self.is_unguarded, " unguarded"),
            (self.is_pinned, " pinned"),
            (self.is_wait, " waits"),
            (self.is_global, " global"),
        ];
        flags.iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, word)| f.write_str(word))
    }
}

impl FromStr for Footprint {
    type Err = ();

    fn from_str(text: &str) -> Result<Footprint, ()> {
        let mut footprint = Footprint::default();
        for word in text.split_whitespace() {
            footprint.add(word).ok_or(())?;
        }
        Ok(footprint)
    }
}

impl Footprint {
    fn add(&mut self, word: &str) -> Option<()> {
        let hexadecimal = |text: &str| usize::from_str_radix(text, 16).ok();
        match word.split_once(':') {
            Some((mode @ ("r" | "w"), range)) => {
                let (address, len) = range.split_once('+')?;
                let mode = if mode == "w" { Mode::Write } else { Mode::Read };
                self.touches.push(Touch { address: hexadecimal(address)?, len: hexadecimal(len)?, mode });
            }
            Some(("q", step)) => self.queried.push(step.parse().ok()?),
            Some(("n", notify)) => self.notifies.push(u64::from_str_radix(notify, 16).ok()?),
            Some(("d", stream)) => self.drops.push(stream.parse().ok()?),
            Some(("a", step)) => self.after.push(step.parse().ok()?),
            Some(_) => return None,
            None => match word {
                "code" => self.is_host_code = true,
                "function" => self.is_function = true,
                "unguarded" => self.is_unguarded = true,
                "pinned" => self.is_pinned = true,
                "waits" => self.is_wait = true,
                "global" => self.is_global = true,
                _ => return None,
            },
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Step = Step { actor: Actor::Stream(1), number: 1 };
    const SECOND: Step = Step { actor: Actor::Stream(2), number: 1 };
    const HOST: Step = Step { actor: Actor::Host, number: 9 };

    fn conflict(one: (Step, &str), other: (Step, &str)) -> bool {
        let (a, b): (Footprint, Footprint) = (one.1.parse().unwrap(), other.1.parse().unwrap());
        assert_eq!(a.conflicts(one.0, &b, other.0), b.conflicts(other.0, &a, one.0), "symmetric");
        a.conflicts(one.0, &b, other.0)
    }

    #[test]
    fn bytes_conflict_if_one_side_writes_them() {
        assert!(conflict((FIRST, "w:100+10"), (SECOND, "r:10f+1")));
        assert!(!conflict((FIRST, "w:100+10"), (SECOND, "w:110+10")));
        assert!(!conflict((FIRST, "r:100+10"), (SECOND, "r:100+10")));
    }

    #[test]
    fn signs_conflict_with_what_they_depend_on() {
        assert!(conflict((HOST, "q:1.1"), (FIRST, "")));
        assert!(!conflict((HOST, "q:1.2"), (FIRST, "")));
        assert!(conflict((FIRST, "n:5"), (SECOND, "n:5")));
        assert!(conflict((HOST, "d:2"), (SECOND, "")));
        assert!(!conflict((HOST, "a:1.1"), (FIRST, "w:100+10")));
        assert!(conflict((HOST, "code"), (FIRST, "function")));
        assert!(conflict((HOST, "code"), (FIRST, "unguarded")));
        assert!(!conflict((HOST, "code"), (FIRST, "pinned")));
        assert!(conflict((SECOND, "function"), (FIRST, "pinned")));
        assert!(conflict((SECOND, "global"), (FIRST, "")));
    }

    #[test]
    fn order_round_trips_through_its_text() {
        let text = "choose host\nchoose 3\nasleep 3.7 r:10+20 q:1.4 a:2.1 code\nasleep host.4\ntask 1.3 after host.57\n\
                    random 5 3 400\nnarrate\n";
        assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
        let commented = "# a comment\n\ntask 1.3 after 2.4   # runs later\n".parse::<Order>().unwrap();
        assert_eq!(commented.constraints.len(), 1);
        assert!("task 1.3 before 2.4".parse::<Order>().unwrap_err().contains("line 1"));
    }
}
