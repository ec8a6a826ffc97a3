//! Access between devices.

use crate::entry::{export, out, require};
use softacl_engine::{Error, PeerStatus, fail};

export! {
    fn aclrtDeviceCanAccessPeer(can_access: *mut i32, device: i32, peer: i32) |caller| {
        if device == peer {
            return fail(Error::Argument(format!("device and peer are the same device, {device}")));
        }
        caller.machine().logical_device(device.into())?;
        caller.machine().logical_device(peer.into())?;
        if can_access.is_null() {
            return fail(Error::Parameter("canAccessPeer is NULL".to_owned()));
        }
        let possible = caller.can_access_peer(device.into(), peer.into())?;
        out(can_access, "canAccessPeer")?.set(i32::from(possible))
    }

    fn aclrtDeviceEnablePeerAccess(peer: i32, flags: u32) |caller| {
        if flags != 0 {
            return fail(Error::PeerFlags(flags));
        }
        caller.enable_peer_access(peer.into())
    }

    fn aclrtDeviceDisablePeerAccess(peer: i32) |caller| { caller.disable_peer_access(peer.into()) }

    fn aclrtDevicePeerAccessStatus(device: i32, peer: i32, status: *mut i32) |caller| {
        let status = out(status, "status")?;
        require(caller, "aclrtDevicePeerAccessStatus")?;
        status.set(i32::from(caller.peer_status(device.into(), peer.into())? == PeerStatus::Usable))
    }
}
