//! Who waits for whom in one process, as data and as text: the answer to `softacl status`, and part of the report of a
//! process that was stopped.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// The threads and streams of a process, and what they wait for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    pub pid: u32,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// True if the process runs under the checker. Otherwise the lines of waits are unknown.
    pub is_checked: bool,
    /// True if it is proven that the process hangs.
    pub is_hang: bool,
    pub devices: u32,
    /// Memory and work of each device of the process.
    #[serde(default)]
    pub usage: Vec<DeviceUse>,
    /// Number of streams, with or without work.
    pub stream_count: u32,
    /// When the process last made a call or finished a task, in seconds of the system's monotonic clock.
    pub last_progress: Option<f64>,
    /// When the picture was taken, on the same clock.
    pub taken: f64,
    pub threads: Vec<Waiter>,
    /// Streams with work.
    pub streams: Vec<Waiter>,
    /// True if a thread or stream waits for something that another process may do.
    pub waits_outside: bool,
    /// Processes that created events that this process waits for.
    pub awaited_processes: Vec<u32>,
}

/// What a process uses of a device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Number of the device in the system. The program may know it under another one.
    pub device: u32,
    /// Bytes of device memory.
    pub used: u64,
    pub capacity: u64,
    /// Number of streams that run a task at this moment.
    pub running: u32,
}

/// A thread or a stream, and what it does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waiter {
    /// The system's id of a thread, or the id of a stream.
    pub id: u32,
    /// What it waits for, in words.
    pub what: String,
    /// Where the program asked for it: file, line and function.
    pub place: Option<String>,
    /// Device of a stream, and the number of its unfinished tasks.
    pub device: Option<u32>,
    pub tasks: Option<u64>,
}

impl Picture {
    /// Seconds without progress.
    pub fn idle(&self) -> Option<f64> {
        self.last_progress.map(|last| (self.taken - last).max(0.0))
    }

    /// One line about the process.
    pub fn summary(&self) -> String {
        let idle = self.idle().map_or_else(String::new, |idle| format!(", no progress for {idle:.1} s"));
        let hang = if self.is_hang { ", hangs" } else { "" };
        format!(
            "process {}: {} devices, {} streams, {} with work{idle}{hang}: {}",
            self.pid,
            self.devices,
            self.stream_count,
            self.streams.len(),
            self.program.join(" ")
        )
    }

    /// One line per thread and stream.
    pub fn lines(&self) -> Vec<String> {
        let thread = |waiter: &Waiter| format!("{}{}", waiter.what, at(waiter));
        self.threads.iter().map(thread).chain(self.stream_lines()).collect()
    }

    /// One line per stream with work.
    pub fn stream_lines(&self) -> Vec<String> {
        let stream = |waiter: &Waiter| {
            let device = waiter.device.map_or_else(String::new, |device| format!(", device {device}"));
            let tasks = waiter.tasks.unwrap_or(0);
            let noun = if tasks == 1 { "task" } else { "tasks" };
            format!("stream {}{device}, {tasks} unfinished {noun}: {}{}", waiter.id, waiter.what, at(waiter))
        };
        self.streams.iter().map(stream).collect()
    }

    /// The whole picture.
    pub fn text(&self) -> String {
        let mut text = self.summary() + "\n";
        for line in self.lines() {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

fn at(waiter: &Waiter) -> String {
    waiter.place.as_ref().map_or_else(String::new, |place| format!(", at {place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_a_line_for_each_thread_and_stream() {
        let thread = Waiter {
            id: 12,
            what: "host thread 0 waits for task 2 of stream 1".to_owned(),
            place: Some("app.c:7 in main".to_owned()),
            ..Waiter::default()
        };
        let stream = Waiter {
            id: 1,
            what: "task 1 of stream 1 (notify wait) waits for notify 0, which no queued task records".to_owned(),
            device: Some(0),
            tasks: Some(2),
            ..Waiter::default()
        };
        let picture = Picture {
            pid: 12,
            program: vec!["./app".to_owned(), "-v".to_owned()],
            devices: 2,
            stream_count: 3,
            last_progress: Some(10.0),
            taken: 12.5,
            threads: vec![thread],
            streams: vec![stream],
            ..Picture::default()
        };
        assert_eq!(
            picture.text(),
            "process 12: 2 devices, 3 streams, 1 with work, no progress for 2.5 s: ./app -v\n  \
             host thread 0 waits for task 2 of stream 1, at app.c:7 in main\n  \
             stream 1, device 0, 2 unfinished tasks: task 1 of stream 1 (notify wait) waits for notify 0, which no \
             queued task records\n"
        );
    }
}
