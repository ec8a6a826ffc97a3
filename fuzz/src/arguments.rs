//! Generates the arguments of a call from a seed: live, stale and wild handles and addresses, valid and absurd sizes.
//! Arguments depend only on the seed and the results of earlier calls.

use crate::api::{Function, Parameter};
use crate::arena::{Arena, DATA, SLOT};
use fastrand::Rng;
use std::collections::BTreeMap;

/// Maximum number of values per kind in the pool.
const MAX_PER_KIND: usize = 12;

/// Handles and addresses returned by earlier calls of all threads.
#[derive(Debug, Default)]
pub struct ValuePool {
    handles: BTreeMap<String, Vec<u64>>,
    /// Addresses and sizes of allocations, live or freed.
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

/// Adds a value. Replaces a random one if the list is full.
fn remember<T>(list: &mut Vec<T>, rng: &mut Rng, value: T) {
    if list.len() < MAX_PER_KIND {
        list.push(value);
    } else {
        list[rng.usize(..MAX_PER_KIND)] = value;
    }
}

/// Generates the arguments of one call.
pub struct ArgumentGenerator<'a> {
    pub rng: &'a mut Rng,
    pub arena: &'a Arena,
    pub pool: &'a ValuePool,
    /// Share of valid arguments.
    pub valid_percent: u32,
}

impl ArgumentGenerator<'_> {
    /// Returns the words of every parameter.
    pub fn arguments(&mut self, function: &Function) -> Vec<Vec<u64>> {
        let each = function.parameters.iter().enumerate();
        each.map(|(index, parameter)| self.words(function, index, parameter)).collect()
    }

    /// Decides whether the next value is valid.
    fn draws_valid(&mut self) -> bool {
        self.rng.u32(0..100) < self.valid_percent
    }

    fn words(&mut self, function: &Function, index: usize, parameter: &Parameter) -> Vec<u64> {
        if parameter.words() > 1 {
            return (0..parameter.words()).map(|_| self.word()).collect();
        }
        // No wild function pointers and no wrong formats: C cannot defend against them.
        if function.name == "aclAppLog" {
            let text = self.arena.text(1 + self.rng.usize(..4)) as u64;
            return vec![if parameter.pointee().is_some() { text } else { self.rng.u64(0..6) }];
        }
        if is_callback(&parameter.kind) {
            return vec![if self.rng.u32(0..10) == 0 { 0 } else { noop as *const () as u64 }];
        }
        vec![self.value(index, parameter)]
    }

    fn value(&mut self, index: usize, parameter: &Parameter) -> u64 {
        let kind = parameter.kind.as_str();
        match kind {
            "void*" => self.address() as u64,
            "char*" if !self.draws_valid() => self.bad_address() as u64,
            "char*" => {
                let number = self.rng.usize(..);
                if self.rng.bool() { self.arena.text(number) as u64 } else { self.arena.slot(index) as u64 }
            }
            _ if self.pool.has_handle(kind) => self.handle(kind),
            _ if parameter.pointee().is_some() => {
                if !self.draws_valid() {
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

    /// Returns a word for an array or structure of this kind.
    fn element(&mut self, kind: &str, name: &str) -> u64 {
        match kind {
            "void*" => self.address() as u64,
            "size_t" | "uint64_t" if name.contains("ndex") => self.rng.u64(0..3),
            "size_t" | "uint64_t" | "int64_t" => self.size(name),
            "uint32_t" | "int32_t" => u64::from(self.rng.u32(0..4)) << 32 | u64::from(self.rng.u32(0..4)),
            // The next structure may be memory of the program, with any contents.
            _ if is_handle(kind) || self.pool.has_handle(kind) => self.handle(kind),
            _ => self.word(),
        }
    }

    /// Returns a word for a structure of unknown layout.
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
        if !self.draws_valid() {
            return self.bad_address();
        }
        if self.pool.memory.is_empty() || self.rng.u32(0..4) == 0 {
            return self.arena.data + self.rng.usize(..DATA);
        }
        let (address, size) = self.pool.memory[self.rng.usize(..self.pool.memory.len())];
        match self.rng.u32(0..8) {
            0 => address.wrapping_add(size),
            1 => address.wrapping_sub(1),
            2 if size > 0 => address + self.rng.usize(..size),
            3 => address + size / 2,
            _ => address,
        }
    }

    /// Returns an invalid address: null, unmapped, read-only, non-canonical or a handle. Never memory of another
    /// component of the process.
    fn bad_address(&mut self) -> usize {
        match self.rng.u32(0..12) {
            0..=2 => 0,
            3 => self.arena.unmapped + self.rng.usize(..9),
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
        let is_valid = self.draws_valid();
        match self.pool.handles.get(kind) {
            Some(list) if is_valid => list[self.rng.usize(..list.len())],
            _ if is_valid => 0,
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
        if self.pool.handles.is_empty() {
            return self.rng.u64(..);
        }
        let kind = self.rng.usize(..self.pool.handles.len());
        let list = self.pool.handles.values().nth(kind).expect("the index is in range");
        list[self.rng.usize(..list.len())]
    }

    /// Returns a size, usually small. Nothing between what fits the arena and the absurd: such a range would include
    /// memory of the fuzzer, which a call may then legally overwrite.
    fn size(&mut self, name: &str) -> u64 {
        let is_count =
            name.starts_with("num") || name.ends_with("Num") || name.contains("ount") || name.contains("len");
        match self.rng.u32(0..24) {
            0 if !self.draws_valid() => u64::MAX - self.rng.u64(0..80),
            1 if !self.draws_valid() => 1 << self.rng.u32(62..64),
            2 => 0,
            _ if is_count && self.rng.u32(0..4) != 0 => self.rng.u64(0..9),
            3..=9 => self.rng.u64(1..600),
            10..=12 if !self.pool.memory.is_empty() => {
                self.pool.memory[self.rng.usize(..self.pool.memory.len())].1 as u64
            }
            13..=14 => 4096 << self.rng.u32(0..5),
            15..=16 => 2 << 20,
            17 => 4 << 20 | self.rng.u64(0..9),
            _ => self.rng.u64(0..16),
        }
    }

    fn timeout(&mut self) -> u64 {
        match self.rng.u32(0..8) {
            0 if !self.draws_valid() => self.rng.u64(..) as i32 as u64 | 1 << 31,
            1 => 0,
            _ => self.rng.u64(1..4),
        }
    }

    fn number(&mut self) -> u64 {
        match self.rng.u32(0..12) {
            0 if !self.draws_valid() => self.rng.u64(..),
            1 if !self.draws_valid() => i32::MIN as u64 + self.rng.u64(0..3),
            2 if !self.draws_valid() => u64::MAX,
            3 => self.rng.u64(0..40),
            _ => self.rng.u64(0..3),
        }
    }

    fn choice(&mut self) -> u64 {
        if self.draws_valid() { self.rng.u64(0..7) } else { self.number() }
    }
}

fn is_callback(kind: &str) -> bool {
    ["Callback", "CallBack", "CallbackFunc", "Func"].iter().any(|end| kind.ends_with(end))
}

/// True for handle types, which are typedefs of pointers.
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

/// The callback that is passed to calls.
extern "C" fn noop(_: u64, _: u64, _: u64, _: u64) -> u64 {
    0
}
