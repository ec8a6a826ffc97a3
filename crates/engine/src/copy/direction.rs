//! The direction of an asynchronous copy: the declared copy kind against the memory kinds.
//!
//! Between memory kinds that the runtime can distinguish, a wrong declaration is corrected silently. With pageable
//! memory, some declarations are refused (specification 1.2).

use crate::copy::kinds;
use softacl_errors::{Error, Result, fail};
use softacl_memory::MemoryKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

use Direction::*;

/// The effective direction. `kind` is in 0 to 4.
#[inline]
pub(super) fn direction(source: MemoryKind, target: MemoryKind, kind: i32) -> Result<Direction> {
    use MemoryKind::{Device, Pageable, Pinned};
    let (default, allowed): (Direction, &[Direction]) = match (source, target) {
        (Pinned, Device(_)) => return Ok(HostToDevice),
        (Device(_), Pinned) => return Ok(DeviceToHost),
        (Pinned, Pinned) => return Ok(HostToHost),
        (Device(_), Device(_)) => return Ok(DeviceToDevice),
        (Pageable, Device(_)) => (HostToDevice, &[HostToDevice, DeviceToDevice]),
        (Device(_), Pageable) => (DeviceToHost, &[DeviceToHost, DeviceToDevice]),
        (Pinned, Pageable) => (HostToHost, &[HostToHost, HostToDevice]),
        (Pageable, Pinned) => (HostToHost, &[HostToHost, DeviceToHost]),
        (Pageable, Pageable) => (HostToHost, &[HostToHost, HostToDevice, DeviceToHost, DeviceToDevice]),
    };
    let declared = match kind {
        kinds::HOST_TO_HOST => HostToHost,
        kinds::HOST_TO_DEVICE => HostToDevice,
        kinds::DEVICE_TO_HOST => DeviceToHost,
        kinds::DEVICE_TO_DEVICE => DeviceToDevice,
        _ => return Ok(default),
    };
    if allowed.contains(&declared) {
        return Ok(declared);
    }
    fail(Error::Parameter(format!(
        "copy kind {kind} ({declared:?}) does not fit a copy from {} to {}",
        source.describe(),
        target.describe()
    )))
}

/// True if such a copy drains its stream and is done when the call returns.
pub(super) fn blocks(direction: Direction, source: MemoryKind, target: MemoryKind) -> bool {
    let pageable = source == MemoryKind::Pageable || target == MemoryKind::Pageable;
    pageable && matches!(direction, HostToDevice | DeviceToHost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use MemoryKind::{Device, Pageable, Pinned};

    #[test]
    fn direction_matches_specification_table() {
        let code = |source, target, kind| match direction(source, target, kind) {
            Ok(HostToHost) => 'h',
            Ok(HostToDevice) => '>',
            Ok(DeviceToHost) => '<',
            Ok(DeviceToDevice) => 'd',
            Err(error) => {
                assert_eq!(error.code(), 107000);
                '!'
            }
        };
        let row = |source, target| (0..5).map(|kind| code(source, target, kind)).collect::<String>();
        assert_eq!(row(Pinned, Device(0)), ">>>>>");
        assert_eq!(row(Device(0), Pinned), "<<<<<");
        assert_eq!(row(Pinned, Pinned), "hhhhh");
        assert_eq!(row(Device(0), Device(1)), "ddddd");
        assert_eq!(row(Pageable, Device(0)), "!>!d>");
        assert_eq!(row(Device(0), Pageable), "!!<d<");
        assert_eq!(row(Pinned, Pageable), "h>!!h");
        assert_eq!(row(Pageable, Pinned), "h!<!h");
        assert_eq!(row(Pageable, Pageable), "h><dh");
    }
}
