//! Random numbers: the request, and its checks. `task::random` generates them.

use crate::caller::{Caller, Submission};
use crate::task::moves::Move;
use crate::task::random::{Distribution, Parameter, RandomElement, RandomTask};
use softacl_errors::{Error, Result, fail};
use softacl_memory::{MemoryKind, ResolvedAddress};

/// Random numbers to generate, as the program asks for them.
#[derive(Debug, Clone, Copy)]
pub struct RandomRequest {
    pub distribution: Distribution,
    pub element: RandomElement,
    pub parameters: [Parameter; 2],
    pub seed: Parameter,
    pub count: Parameter,
    /// Address of 16 bytes from which the sequence continues; 0 is none.
    pub counter: usize,
    pub target: usize,
}

/// Bytes of a counter.
const COUNTER_SIZE: usize = 16;

impl Caller<'_> {
    /// Queues the generation of random numbers.
    pub fn generate_random(&self, request: RandomRequest, stream: usize) -> Result<()> {
        let Submission { key, stream, context } = self.submission(self.explicit_stream(stream)?)?;
        let device = stream.device();
        let resolve = |parameter| -> Result<Parameter> {
            Ok(match parameter {
                Parameter::Value(value) => Parameter::Value(value),
                Parameter::Memory(address, len) => {
                    Parameter::Memory(self.random_memory(device, address, len)?.reach, len)
                }
            })
        };
        let target = self.random_memory(device, request.target, 1)?;
        let counter = match request.counter {
            0 => 0,
            address => self.random_memory(device, address, COUNTER_SIZE)?.reach,
        };
        let task = RandomTask {
            distribution: request.distribution,
            element: request.element,
            parameters: [resolve(request.parameters[0])?, resolve(request.parameters[1])?],
            seed: resolve(request.seed)?,
            count: resolve(request.count)?,
            counter,
            target: target.reach,
            room: target.remaining,
        };
        if let Parameter::Value(count) = task.count {
            let count = u64::from_le_bytes(count);
            if count == 0 || task.bytes(count).is_none() {
                return fail(Error::Parameter(format!(
                    "{count} random numbers do not fit the {} bytes at {:#x}",
                    target.remaining, request.target
                )));
            }
        }
        self.machine.submit(key, stream, context, Move::Random(Box::new(task))).map(|_| ())
    }

    /// Resolves memory of the device of the stream.
    fn random_memory(&self, device: u32, address: usize, len: usize) -> Result<ResolvedAddress> {
        let resolved = self.machine.memory.finder().find("random number", address)?;
        if resolved.place != MemoryKind::Device(device) {
            return fail(Error::NotDeviceMemory { address, kind: resolved.describe() });
        }
        resolved.covers("random number", len)?;
        Ok(resolved)
    }
}
