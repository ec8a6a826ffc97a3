//! Access between devices.

use crate::argument::OutPtr;
use crate::entry::export;
use softacl_engine::{Error, PeerStatus, fail};

export! {
    fn aclrtDeviceCanAccessPeer(can_access: Option<OutPtr<i32>>, device: i32, peer: i32) |call| {
        if device == peer {
            return fail(Error::Argument(format!("device and peer are the same device, {device}")));
        }
        call.machine().logical_device(device.into())?;
        call.machine().logical_device(peer.into())?;
        // A code of the runtime layer, unlike other NULL results.
        let can_access = can_access.ok_or_else(|| Error::Parameter("canAccessPeer is NULL".to_owned()))?;
        can_access.set(i32::from(call.can_access_peer(device.into(), peer.into())?))
    }

    fn aclrtDeviceEnablePeerAccess(peer: i32, flags: u32) |call| {
        if flags != 0 {
            return fail(Error::PeerFlags(flags));
        }
        call.enable_peer_access(peer.into())
    }

    fn aclrtDeviceDisablePeerAccess(peer: i32) |call| { call.disable_peer_access(peer.into()) }

    fn aclrtDevicePeerAccessStatus(device: i32, peer: i32, status: OutPtr<i32>) |call| {
        call.require_supported()?;
        status.set(i32::from(call.peer_status(device.into(), peer.into())? == PeerStatus::Usable))
    }
}
