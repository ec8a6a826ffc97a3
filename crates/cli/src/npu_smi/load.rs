//! What running programs use of the chips: memory, and how often their streams are found running a task.

use crate::processes;
use softacl_checker::picture::Picture;
use softacl_engine::mailbox::Mailbox;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How long a program may take to answer. One that is stopped is left out.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);
/// Questions from whose answers the use in percent is computed, and the time between them.
const SAMPLES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(2);

/// A running program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    pub id: u32,
    pub name: String,
    devices: Vec<Share>,
}

/// What a program uses of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Share {
    device: u32,
    used: u64,
    /// Percentage of the answers in which one of its streams ran a task.
    busy: u32,
}

/// What all programs use of a device.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Load<'a> {
    pub used: u64,
    pub busy: u32,
    /// The programs with their bytes.
    pub programs: Vec<(&'a Program, u64)>,
}

/// Returns the running programs of this user.
pub fn programs() -> Vec<Program> {
    let found = processes::ask_all(sample, |program| program.id);
    found.into_iter().filter_map(|process| process.answer).collect()
}

/// Returns the load of a device. A program without memory counts on its first device.
pub fn of(programs: &[Program], device: u32) -> Load<'_> {
    let mut load = Load::default();
    for program in programs {
        let has_memory = program.devices.iter().any(|share| share.used > 0);
        let is_there = |(index, share): &(usize, &Share)| {
            share.device == device && (share.used > 0 || share.busy > 0 || *index == 0 && !has_memory)
        };
        if let Some((_, share)) = program.devices.iter().enumerate().find(is_there) {
            load.used += share.used;
            load.busy = (load.busy + share.busy).min(100);
            load.programs.push((program, share.used));
        }
    }
    load
}

fn sample(mailbox: &Mailbox) -> Option<Program> {
    let first = processes::ask(mailbox, ANSWER_TIMEOUT)?;
    let mut pictures = vec![first];
    for _ in 1..SAMPLES {
        thread::sleep(PAUSE);
        let Some(picture) = processes::ask(mailbox, ANSWER_TIMEOUT) else { break };
        pictures.push(picture);
    }
    summarize(&pictures)
}

fn summarize(pictures: &[Picture]) -> Option<Program> {
    let last = pictures.last()?;
    let path = last.program.first().map_or("", String::as_str);
    let name = Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned());
    let share = |usage: &softacl_checker::picture::DeviceUse| {
        let runs = |picture: &&Picture| picture.usage.iter().any(|one| one.device == usage.device && one.running > 0);
        let busy = pictures.iter().filter(runs).count() * 100 / pictures.len();
        Share { device: usage.device, used: usage.used, busy: busy as u32 }
    };
    Some(Program { id: last.pid, name, devices: last.usage.iter().map(share).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use softacl_checker::picture::DeviceUse;

    fn picture(running: u32) -> Picture {
        let usage = |device, used, running| DeviceUse { device, used, capacity: 1 << 30, running };
        Picture {
            pid: 7,
            program: vec!["/usr/bin/python3".to_owned(), "app.py".to_owned()],
            usage: vec![usage(2, 5 << 20, running), usage(3, 0, 0)],
            ..Picture::default()
        }
    }

    #[test]
    fn use_is_the_share_of_answers_with_a_running_task() {
        let program = summarize(&[picture(0), picture(1), picture(2), picture(0)]).unwrap();
        assert_eq!((program.id, program.name.as_str()), (7, "python3"));
        let programs = [program];
        let load = of(&programs, 2);
        assert_eq!((load.used, load.busy, load.programs.len()), (5 << 20, 50, 1));
        assert_eq!(of(&programs, 3), Load::default());
        assert_eq!(summarize(&[]), None);
    }

    #[test]
    fn program_without_memory_is_on_its_first_device() {
        let mut empty = picture(0);
        empty.usage[0].used = 0;
        let programs = [summarize(&[empty]).unwrap()];
        assert_eq!(of(&programs, 2).programs, [(&programs[0], 0)]);
        assert!(of(&programs, 3).programs.is_empty());
    }
}
