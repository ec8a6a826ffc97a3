//! Where devices are and how they are connected: PCI addresses, links, atomic operations, optional features.
//!
//! The addresses are invented, because no slot exists. The rest describes softacl, not the card that it stands for:
//! kernels compute on the CPU, and a reducing copy stays within one device, so no atomic operation crosses a link.

use crate::argument::{InPtr, OutPtr, TextPtr};
use crate::entry::{Call, export};
use ascendcl_sys::*;
use softacl_engine::{Error, Result, fail, segv};
use softacl_profiles::DeviceLink;
use std::ffi::c_char;

/// Bytes of a PCI address, including the terminating zero.
const PCI_TEXT_SIZE: usize = 13;
/// The bus of device 0. Each device has its own bus.
const FIRST_BUS: u32 = 0x10;

export! {
    fn aclrtDeviceGetPCIBusId(device: i32, text: OutPtr<c_char>, len: i32) |call| {
        call.require_supported()?;
        let logical = call.machine().logical_device(device.into())?;
        if usize::try_from(len).is_ok_and(|len| len >= PCI_TEXT_SIZE) {
            return text.write(format!("0000:{:02X}:00.0\0", FIRST_BUS + logical).as_bytes());
        }
        fail(Error::Parameter(format!("a PCI address takes {PCI_TEXT_SIZE} bytes, not {len}")))
    }

    fn aclrtDeviceGetByPCIBusId(text: TextPtr, device: OutPtr<i32>) |call| {
        let text = text.read()?;
        call.require_supported()?;
        let malformed = || Error::Parameter(format!("{text:?} is not a PCI address such as 0000:10:00.0"));
        let [domain, bus, slot, function] = parse_pci(&text).ok_or_else(malformed)?;
        let logical = bus.checked_sub(FIRST_BUS).filter(|_| (domain, slot, function) == (0, 0, 0));
        let user = logical.and_then(|logical| call.machine().user_device(logical.into()).ok());
        device.set(user.ok_or_else(|| Error::Parameter(format!("no device has the PCI address {text:?}")))? as i32)
    }

    fn aclrtGetDevicesTopo(device: u32, other: u32, value: OutPtr<u64>) |call| {
        call.require_supported()?;
        let machine = call.machine();
        let [one, two] = [machine.logical_device(device.into())?, machine.logical_device(other.into())?];
        if one == two {
            return fail(Error::Parameter(format!("device {device} has no link to itself")));
        }
        let peer = &machine.config().profile.chip.peer;
        let unknown = || Error::Feature(format!("the links of {} are not public", machine.config().profile.soc));
        let link = match peer.link.ok_or_else(unknown)? {
            _ if peer.two_devices_per_chip && one / 2 == two / 2 => ACL_RT_DEVS_TOPOLOGY_SIO,
            DeviceLink::Hccs => ACL_RT_DEVS_TOPOLOGY_HCCS,
            DeviceLink::HccsSwitch => ACL_RT_DEVS_TOPOLOGY_HCCS_SW,
            DeviceLink::Pcie => ACL_RT_DEVS_TOPOLOGY_PHB,
        };
        value.set(link as u64)
    }

    fn aclrtDeviceGetHostAtomicCapabilities(
        capabilities: OutPtr<u32>, operations: InPtr<i32>, count: u32, device: i32
    ) |call| {
        call.require_supported()?;
        call.machine().logical_device(device.into())?;
        report_none(capabilities, operations, count)
    }

    fn aclrtDeviceGetP2PAtomicCapabilities(
        capabilities: OutPtr<u32>, operations: InPtr<i32>, count: u32, source: i32, target: i32
    ) |call| {
        call.require_supported()?;
        call.machine().logical_device(source.into())?;
        call.machine().logical_device(target.into())?;
        if source == target {
            return fail(Error::Parameter(format!("both devices are device {source}")));
        }
        report_none(capabilities, operations, count)
    }

    /// Of the two features, one needs kernels and the other queues between devices.
    fn aclrtGetDeviceCapability(device: i32, feature: i32, value: OutPtr<i32>) |call| {
        call.require_supported()?;
        call.machine().logical_device(device.into())?;
        match feature {
            ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV | ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV => {
                value.set(ACL_DEV_FEATURE_NOT_SUPPORT)
            }
            _ => fail(Error::Parameter(format!("feature {feature} is neither 1 nor 21"))),
        }
    }

    /// A name that belongs to no known chip is not compatible.
    fn aclrtCheckArchCompatibility(soc: TextPtr, result: OutPtr<i32>) |call| {
        let soc = soc.read()?;
        call.require_supported()?;
        result.set(i32::from(is_same_chip(call, &soc)))
    }

    /// Selecting a scheduler has no effect: there is one.
    fn aclrtSetTsDevice(scheduler: i32) |call| {
        if ![ACL_TS_ID_AICORE, ACL_TS_ID_AIVECTOR].contains(&scheduler) {
            return fail(Error::Parameter(format!("scheduler {scheduler} is neither 0 nor 1")));
        }
        call.require_supported()?;
        call.current_context().map(|_| ())
    }
}

fn is_same_chip(call: Call<'_>, soc: &str) -> bool {
    let named = softacl_profiles::profile(Some(soc), None);
    named.is_ok_and(|named| std::ptr::eq(named.chip, call.machine().config().profile.chip))
}

/// Reports for each operation that it is not possible.
fn report_none(capabilities: OutPtr<u32>, operations: InPtr<i32>, count: u32) -> Result<()> {
    if count == 0 {
        return fail(Error::Parameter("count is 0".to_owned()));
    }
    let guard = segv::enter();
    let operations = operations.array(count as usize, &guard)?;
    if let Some(unknown) = operations.iter().find(|operation| !is_operation(**operation)) {
        return fail(Error::Parameter(format!("atomic operation {unknown} does not exist")));
    }
    (0..operations.len()).try_for_each(|index| capabilities.set_at(index, 0))
}

fn is_operation(operation: i32) -> bool {
    (ACL_RT_ATOMIC_OPERATION_INTEGER_ADD..=ACL_RT_ATOMIC_OPERATION_FLOAT_MAX).contains(&operation)
        || (ACL_RT_ATOMIC_OPERATION_DMA_ADD..=ACL_RT_ATOMIC_OPERATION_DMA_MAX).contains(&operation)
        || (ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_ADD..=ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_EXCH).contains(&operation)
}

/// Parses `domain:bus:device.function` in hexadecimal. The domain and the function may be missing and are then 0.
fn parse_pci(text: &str) -> Option<[u32; 4]> {
    let hex = |part: &str| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_number.then(|| u32::from_str_radix(part, 16).ok()).flatten()
    };
    let (place, function) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = place.split(':').collect();
    let [domain, bus, slot] = match parts[..] {
        [bus, slot] => ["0", bus, slot],
        [domain, bus, slot] => [domain, bus, slot],
        _ => return None,
    };
    Some([hex(domain)?, hex(bus)?, hex(slot)?, hex(function)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_are_parsed_in_all_forms() {
        assert_eq!(parse_pci("0000:1a:00.0"), Some([0, 0x1a, 0, 0]));
        assert_eq!(parse_pci("1A:02.3"), Some([0, 0x1a, 2, 3]));
        assert_eq!(parse_pci("0001:1A:02"), Some([1, 0x1a, 2, 0]));
        for wrong in ["", "1a", "0000:1a:00.", "0000:1a:00.x", "1:2:3:4", "+1:00.0", "12345:00:00.0"] {
            assert_eq!(parse_pci(wrong), None, "{wrong:?}");
        }
    }
}
