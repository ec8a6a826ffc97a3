//! The layer of the API that rejects a call.

use crate::error::{Code, Error};

/// The first code of the runtime layer. Codes of the argument layer are smaller (specification 4.6).
const FIRST_RUNTIME_CODE: Code = ascendcl_sys::ACL_ERROR_RT_PARAM_INVALID;

/// One of the two layers of the API. A program can observe which one rejected a call: only failures of the runtime
/// layer enter the last-error cell of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The argument check at the start of a call.
    Arguments,
    Runtime,
    /// The runtime layer, for a failure that leaves the last-error cell unchanged.
    RuntimeWithoutLastError,
}

impl Error {
    /// The layer that returns this error.
    pub fn layer(&self) -> Layer {
        match self.cause() {
            Error::Null(_) | Error::Argument(_) | Error::PeerFlags(_) | Error::QueueId(_) | Error::Internal(_) => {
                Layer::Arguments
            }
            Error::Injected { code: ..FIRST_RUNTIME_CODE, .. } => Layer::Arguments,
            Error::HostToHost => Layer::RuntimeWithoutLastError,
            _ => Layer::Runtime,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ascendcl_sys::{ACL_ERROR_INVALID_PARAM, ACL_ERROR_RT_PARAM_INVALID};

    #[test]
    fn injected_code_decides_the_layer() {
        let layer = |code| Error::Injected { code, what: String::new() }.layer();
        assert_eq!(layer(ACL_ERROR_INVALID_PARAM), Layer::Arguments);
        assert_eq!(layer(ACL_ERROR_RT_PARAM_INVALID), Layer::Runtime);
    }
}
