//! Draws the arguments of a call from a number: live, stale and wild handles and addresses, fitting and absurd
//! sizes. The same number and the same history give the same arguments.

use crate::arena::{Arena, DATA, SLOT};
use crate::interface::{Function, Parameter};
use fastrand::Rng;
use std::collections::BTreeMap;

/// How many values of a kind are remembered.
const REMEMBERED: usize = 12;

/// What earlier calls have returned, of all threads.
#[derive(Debug, Default)]
pub struct ValuePool {
    handles: BTreeMap<String, Vec<u64>>,
    /// Allocations, live or not, and their sizes.
    memory: Vec<(usize, usize)>,
}

impl ValuePool {
    pub fn add_handle(&mut self, rng: &mut Rng, kind: &str, value: u64) {
        if value != 0 {
            remember(self.handles.entry(kind.to_owned()).or_default(), rng, value);
        }
    }

    pub fn add_memory(&mut self, rng: &mut Rng, address: usize, size: usize) {
        if address != 0 {
            remember(&mut self.memory, rng, (address, size));
        }
    }

    pub fn has_handle(&self, kind: &str) -> bool {
        self.handles.contains_key(kind)
    }
}

fn remember<T>(list: &mut Vec<T>, rng: &mut Rng, value: T) {
    if list.len() < REMEMBERED {
        list.push(value);
    } else {
        list[rng.usize(..REMEMBERED)] = value;
    }
}

/// One drawing of arguments.
pub struct ArgumentGenerator<'a> {
    pub rng: &'a mut Rng,
    pub arena: &'a Arena,
    pub known: &'a ValuePool,
    /// Of 100 values, how many are meant to be right.
    pub valid_percent: u32,
}

impl ArgumentGenerator<'_> {
    /// The words of every parameter.
    pub fn arguments(&mut self, function: &Function) -> Vec<Vec<u64>> {
        let each = function.parameters.iter().enumerate();
        each.map(|(index, parameter)| self.words(function, index, parameter)).collect()
    }

    fn is_sane(&mut self) -> bool {
        self.rng.u32(0..100) < self.valid_percent
    }

    fn words(&mut self, function: &Function, index: usize, parameter: &Parameter) -> Vec<u64> {
        if parameter.words() > 1 {
            return (0..parameter.words()).map(|_| self.word()).collect();
        }
        // A wild function pointer cannot be survived, and a wrong format neither: C has no defence.
        if function.name == "aclAppLog" {
            let text = self.arena.text(1 + self.rng.usize(..4)) as u64;
            return vec![if parameter.pointee().is_some() { text } else { self.rng.u64(0..6) }];
        }
        if is_callback(&parameter.kind) {
            return vec![if self.rng.u32(0..10) == 0 { 0 } else { nothing as *const () as u64 }];
        }
        vec![self.value(index, parameter)]
    }

    fn value(&mut self, index: usize, parameter: &Parameter) -> u64 {
        let kind = parameter.kind.as_str();
        match kind {
            "void*" => self.address() as u64,
            "char*" if !self.is_sane() => self.bad_address() as u64,
            "char*" => {
                let number = self.rng.usize(..);
                if self.rng.bool() { self.arena.text(number) as u64 } else { self.arena.slot(index) as u64 }
            }
            _ if self.known.has_handle(kind) => self.handle(kind),
            _ if parameter.pointee().is_some() => {
                if !self.is_sane() {
                    return self.bad_address() as u64;
                }
                let kind = parameter.pointee().unwrap_or_default().to_owned();
                let slot = self.arena.slot(index);
                let words: Vec<u64> = (0..SLOT / 8).map(|_| self.element(&kind, &parameter.name)).collect();
                self.arena.write_words(slot, &words);
                slot as u64
            }
            _ if parameter.name.to_lowercase().contains("timeout") => self.timeout(),
            "size_t" | "uint64_t" => self.size(&parameter.name),
            "uint32_t" | "int32_t" | "int64_t" | "int" | "int8_t" | "float" | "aclFloat16" => self.number(),
            _ if is_handle(kind) => self.handle(kind),
            _ => self.choice(),
        }
    }

    /// What an array or structure of this kind may hold.
    fn element(&mut self, kind: &str, name: &str) -> u64 {
        match kind {
            "void*" => self.address() as u64,
            "size_t" | "uint64_t" if name.contains("ndex") => self.rng.u64(0..3),
            "size_t" | "uint64_t" | "int64_t" => self.size(name),
            "uint32_t" | "int32_t" => u64::from(self.rng.u32(0..4)) << 32 | u64::from(self.rng.u32(0..4)),
            // The next structure may be memory of the program, with everything in it.
            _ if is_handle(kind) || self.known.has_handle(kind) => self.handle(kind),
            _ => self.word(),
        }
    }

    /// Anything: what a structure may hold.
    fn word(&mut self) -> u64 {
        match self.rng.u32(0..20) {
            0..=5 => 0,
            6..=9 => self.rng.u64(0..5),
            10..=11 => u64::from(self.rng.u32(0..4)) << 32 | u64::from(self.rng.u32(0..4)),
            12..=13 => self.any_handle(),
            14..=15 => self.arena.nested as u64 + self.rng.u64(0..32) * 8,
            16..=17 => self.address() as u64,
            18 => self.size("size"),
            _ => self.rng.u64(..),
        }
    }

    fn address(&mut self) -> usize {
        if !self.is_sane() {
            return self.bad_address();
        }
        if self.known.memory.is_empty() || self.rng.u32(0..4) == 0 {
            return self.arena.data + self.rng.usize(..DATA);
        }
        let (address, size) = self.known.memory[self.rng.usize(..self.known.memory.len())];
        match self.rng.u32(0..8) {
            0 => address.wrapping_add(size),
            1 => address.wrapping_sub(1),
            2 if size > 0 => address + self.rng.usize(..size),
            3 => address + size / 2,
            _ => address,
        }
    }

    /// Addresses that are wrong in every way; none of them is memory of somebody else.
    fn bad_address(&mut self) -> usize {
        match self.rng.u32(0..12) {
            0..=2 => 0,
            3 => self.arena.nothing + self.rng.usize(..9),
            4 => self.arena.read_only + self.rng.usize(..64),
            5 => self.arena.end_of_slots(self.rng.usize(1..9)),
            6 => self.rng.usize(1..4096),
            7 => 0x8000_0000_0000_0000 | self.rng.usize(..),
            8 => usize::MAX - self.rng.usize(..16),
            9 => 0x0001_0000_0000_0000 << self.rng.u32(0..14),
            10 => self.any_handle() as usize,
            _ => self.arena.slot(11) + self.rng.usize(..8),
        }
    }

    fn handle(&mut self, kind: &str) -> u64 {
        let sane = self.is_sane();
        match self.known.handles.get(kind) {
            Some(list) if sane => list[self.rng.usize(..list.len())],
            _ if sane => 0,
            _ => match self.rng.u32(0..6) {
                0 => 0,
                1 => self.rng.u64(..),
                2 => self.rng.u64(0..0x1000),
                3 => self.any_handle() ^ 1 << self.rng.u32(0..64),
                4 => self.arena.data as u64,
                _ => self.any_handle(),
            },
        }
    }

    fn any_handle(&mut self) -> u64 {
        if self.known.handles.is_empty() {
            return self.rng.u64(..);
        }
        let kind = self.rng.usize(..self.known.handles.len());
        let list = self.known.handles.values().nth(kind).expect("as many as there are");
        list[self.rng.usize(..list.len())]
    }

    /// Small ones mostly. Between what the arena can bear and the absurd there are none: such a range would reach
    /// memory of the fuzzer, and the program that gives it has asked for that.
    fn size(&mut self, name: &str) -> u64 {
        let counts = name.starts_with("num") || name.ends_with("Num") || name.contains("ount") || name.contains("len");
        match self.rng.u32(0..24) {
            0 if !self.is_sane() => u64::MAX - self.rng.u64(0..80),
            1 if !self.is_sane() => 1 << self.rng.u32(62..64),
            2 => 0,
            _ if counts && self.rng.u32(0..4) != 0 => self.rng.u64(0..9),
            3..=9 => self.rng.u64(1..600),
            10..=12 if !self.known.memory.is_empty() => {
                self.known.memory[self.rng.usize(..self.known.memory.len())].1 as u64
            }
            13..=14 => 4096 << self.rng.u32(0..5),
            15..=16 => 2 << 20,
            17 => 4 << 20 | self.rng.u64(0..9),
            _ => self.rng.u64(0..16),
        }
    }

    fn timeout(&mut self) -> u64 {
        match self.rng.u32(0..8) {
            0 if !self.is_sane() => self.rng.u64(..) as i32 as u64 | 1 << 31,
            1 => 0,
            _ => self.rng.u64(1..4),
        }
    }

    fn number(&mut self) -> u64 {
        match self.rng.u32(0..12) {
            0 if !self.is_sane() => self.rng.u64(..),
            1 if !self.is_sane() => i32::MIN as u64 + self.rng.u64(0..3),
            2 if !self.is_sane() => u64::MAX,
            3 => self.rng.u64(0..40),
            _ => self.rng.u64(0..3),
        }
    }

    fn choice(&mut self) -> u64 {
        if self.is_sane() { self.rng.u64(0..7) } else { self.number() }
    }
}

fn is_callback(kind: &str) -> bool {
    ["Callback", "CallBack", "CallbackFunc", "Func"].iter().any(|end| kind.ends_with(end))
}

/// Types that are pointers by another name.
pub fn is_handle(kind: &str) -> bool {
    const HANDLES: &[&str] = &[
        "aclrtStream",
        "aclrtEvent",
        "aclrtContext",
        "aclrtNotify",
        "aclrtCntNotify",
        "aclrtLabel",
        "aclrtLabelList",
        "aclrtMbuf",
        "aclmdlRI",
        "aclmdlRITask",
        "aclmdlRICondHandle",
        "aclrtTaskGrp",
        "aclrtDrvMemHandle",
        "aclrtMemPool",
        "aclrtAllocatorDesc",
        "aclrtAllocator",
        "aclrtBinary",
        "aclrtBinHandle",
        "aclrtFuncHandle",
        "aclrtArgsHandle",
        "aclrtParamHandle",
        "acltdtBuf",
    ];
    HANDLES.contains(&kind)
}

/// The function that callbacks call.
extern "C" fn nothing(_: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}
