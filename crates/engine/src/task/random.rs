//! Random numbers: a task that fills device memory, from a seed and a counter.
//!
//! The generator is Philox 4x32-10: its output depends only on the seed and the counter, so a program gets the same
//! numbers in every run and on every executor. A card may use another one.

use softacl_errors::{Error, Result, fail};
use softacl_memory::bytes::reduce::{float_to_half, half_to_float};
use softacl_memory::bytes::{self, AccessFault};

/// A distribution, with the number of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// One bit per number, set with the probability that an element is kept. One parameter: the ratio of dropped ones.
    DropoutMask,
    /// Between a minimum, included, and a maximum, excluded.
    Uniform,
    /// By mean and standard deviation.
    Normal,
    /// Like `Normal`, within two standard deviations of the mean.
    TruncatedNormal,
}

/// Type of parameters and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomElement {
    Float32,
    Float16,
    Bfloat16,
}

/// A parameter: up to 8 bytes, known at the submit or read from device memory when the task runs.
#[derive(Debug, Clone, Copy)]
pub enum Parameter {
    Value([u8; 8]),
    /// Address and length. The address is the program's in a request, and the backing address in a task.
    Memory(usize, usize),
}

/// A task that generates random numbers. Addresses are backing addresses.
#[derive(Debug, Clone)]
pub(crate) struct RandomTask {
    pub(crate) distribution: Distribution,
    pub(crate) element: RandomElement,
    pub(crate) parameters: [Parameter; 2],
    pub(crate) seed: Parameter,
    pub(crate) count: Parameter,
    /// 16 bytes of device memory, or 0. The task continues the sequence from there.
    pub(crate) counter: usize,
    pub(crate) target: usize,
    /// Bytes from the target to the end of its allocation.
    pub(crate) room: usize,
}

/// Elements that are generated before they are written.
const CHUNK: usize = 4096;

impl RandomTask {
    /// Bytes of the results, or of their allocation if the number is read when the task runs.
    pub(crate) fn len(&self) -> usize {
        match self.count {
            Parameter::Value(count) => self.bytes(u64::from_le_bytes(count)).unwrap_or(self.room),
            Parameter::Memory(..) => self.room,
        }
    }

    /// Bytes of `count` results. `None` if they do not fit.
    pub(crate) fn bytes(&self, count: u64) -> Option<usize> {
        let bytes = match (self.distribution, self.element) {
            (Distribution::DropoutMask, _) => Some(count.div_ceil(8)),
            (_, RandomElement::Float32) => count.checked_mul(4),
            (_, RandomElement::Float16 | RandomElement::Bfloat16) => count.checked_mul(2),
        };
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes <= self.room)
    }

    /// Generates the numbers and advances the counter.
    pub(crate) fn run(&self) -> Result<()> {
        let count = u64::from_le_bytes(read(self.count)?);
        let Some(len) = self.bytes(count) else {
            return fail(Error::DeviceCopy(format!("{count} random numbers do not fit the {} bytes", self.room)));
        };
        let counter = match self.counter {
            0 => 0,
            // SAFETY: the range is of a request of a `Caller`, resolved and bounded at the submit.
            address => u128::from_le_bytes(unsafe { bytes::read(address) }.map_err(inaccessible(address, 16))?),
        };
        let parameters = [self.decode(read(self.parameters[0])?), self.decode(read(self.parameters[1])?)];
        let mut source = Philox::new(u64::from_le_bytes(read(self.seed)?), counter);
        let mut image = Vec::with_capacity(CHUNK * 4);
        let mut written = 0;
        while written < len {
            image.clear();
            while image.len() < CHUNK && written + image.len() < len {
                self.generate(&mut source, parameters, &mut image);
            }
            image.truncate(len - written);
            write(self.target + written, &image)?;
            written += image.len();
        }
        match self.counter {
            0 => Ok(()),
            address => write(address, &source.next.to_le_bytes()),
        }
    }

    /// Appends the next element, or the next byte of a mask.
    fn generate(&self, source: &mut Philox, [first, second]: [f32; 2], image: &mut Vec<u8>) {
        let value = match self.distribution {
            Distribution::DropoutMask => {
                let byte = (0..8).fold(0, |byte, bit| byte | u8::from(source.unit() >= first) << bit);
                return image.push(byte);
            }
            Distribution::Uniform => first + (second - first) * source.unit(),
            Distribution::Normal => first + second * source.normal(),
            Distribution::TruncatedNormal => {
                let within = std::iter::repeat_with(|| source.normal()).find(|value| value.abs() <= 2.0);
                first + second * within.unwrap_or(0.0)
            }
        };
        match self.element {
            RandomElement::Float32 => image.extend_from_slice(&value.to_le_bytes()),
            RandomElement::Float16 => image.extend_from_slice(&float_to_half(value).to_le_bytes()),
            RandomElement::Bfloat16 => image.extend_from_slice(&((value.to_bits() >> 16) as u16).to_le_bytes()),
        }
    }

    fn decode(&self, value: [u8; 8]) -> f32 {
        let half = u16::from_le_bytes([value[0], value[1]]);
        match self.element {
            RandomElement::Float32 => f32::from_le_bytes([value[0], value[1], value[2], value[3]]),
            RandomElement::Float16 => half_to_float(half),
            RandomElement::Bfloat16 => f32::from_bits(u32::from(half) << 16),
        }
    }
}

fn read(parameter: Parameter) -> Result<[u8; 8]> {
    let (address, len) = match parameter {
        Parameter::Value(value) => return Ok(value),
        Parameter::Memory(address, len) => (address, len),
    };
    let mut value = [0; 8];
    for (index, byte) in value.iter_mut().enumerate().take(len) {
        // SAFETY: the range is of a request of a `Caller`, resolved and bounded at the submit.
        [*byte] = unsafe { bytes::read(address + index) }.map_err(inaccessible(address, len))?;
    }
    Ok(value)
}

fn write(address: usize, image: &[u8]) -> Result<()> {
    // SAFETY: the range is of a request of a `Caller`, resolved and bounded at the submit.
    Ok(unsafe { bytes::write(address, image) }.map_err(inaccessible(address, image.len()))?)
}

fn inaccessible(address: usize, len: usize) -> impl FnOnce(AccessFault) -> Error {
    move |AccessFault| Error::Inaccessible { side: "random number", address, len }
}

/// Philox 4x32 with 10 rounds (Salmon et al., 2011).
struct Philox {
    key: [u32; 2],
    /// Counter of the next block.
    next: u128,
    block: [u32; 4],
    used: usize,
    /// The second number of a pair of normal ones.
    spare: Option<f32>,
}

impl Philox {
    fn new(seed: u64, counter: u128) -> Philox {
        Philox { key: [seed as u32, (seed >> 32) as u32], next: counter, block: [0; 4], used: 4, spare: None }
    }

    fn word(&mut self) -> u32 {
        if self.used == 4 {
            self.block = philox(self.key, self.next);
            self.next = self.next.wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// In 0 to 1, 1 excluded.
    fn unit(&mut self) -> f32 {
        (self.word() >> 8) as f32 / (1 << 24) as f32
    }

    /// With mean 0 and standard deviation 1 (Box and Muller).
    fn normal(&mut self) -> f32 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // 1 excluded becomes 0 excluded, which has a logarithm.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let (sine, cosine) = (std::f32::consts::TAU * self.unit()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }
}

fn philox(mut key: [u32; 2], counter: u128) -> [u32; 4] {
    let mut block = [0, 32, 64, 96].map(|shift| (counter >> shift) as u32);
    for _ in 0..10 {
        let wide = [u64::from(block[0]) * 0xd251_1f53, u64::from(block[2]) * 0xcd9e_8d57];
        let [high0, high1] = wide.map(|product| (product >> 32) as u32);
        block = [high1 ^ block[1] ^ key[0], wide[1] as u32, high0 ^ block[3] ^ key[1], wide[0] as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the authors of the generator.
    #[test]
    fn philox_has_the_published_output() {
        assert_eq!(philox([0; 2], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u32::MAX; 2], u128::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut source = Philox::new(7, 0);
        let all: Vec<f64> = (0..20_000).map(|_| f64::from(source.normal())).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
