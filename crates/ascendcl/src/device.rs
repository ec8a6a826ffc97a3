//! Devices: enumeration, chip name and memory size.

use crate::error::{Error, Result};
use crate::raw;
use ascendcl_sys::ACL_ERROR_RT_INVALID_DEVICEID;

/// A device, identified by its index.
///
/// A `Device` is a plain value that owns no resources. Work is done in a [`Context`](crate::Context).
///
/// ```
/// use ascendcl::Device;
///
/// for device in Device::all()? {
///     println!("device {} is an {}", device.index(), Device::soc_name()?);
/// }
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(u32);

/// Memory of a device, in bytes. Returned by [`Context::memory_info`](crate::Context::memory_info).
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let memory = context.memory_info()?;
/// assert!(memory.free <= memory.total);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Free memory.
    pub free: usize,
    /// Total memory.
    pub total: usize,
}

impl Device {
    /// Returns the device with this index.
    ///
    /// # Errors
    ///
    /// Fails with [`DeviceNotFound`](crate::ErrorKind::DeviceNotFound) if the index is not less than
    /// [`count`](Device::count), and with [`NotInitialized`](crate::ErrorKind::NotInitialized) if no AscendCL library
    /// was found.
    ///
    /// ```
    /// use ascendcl::Device;
    /// assert!(Device::new(0).is_ok() && Device::new(1000).is_err());
    /// ```
    pub fn new(index: u32) -> Result<Device> {
        let count = Device::count()?;
        if index < count {
            return Ok(Device(index));
        }
        let message = format!("device {index} does not exist; the number of devices is {count}");
        Err(Error::new(ACL_ERROR_RT_INVALID_DEVICEID, "Device::new", message))
    }

    /// Returns the number of devices that are visible to the process.
    ///
    /// # Errors
    ///
    /// Fails if no AscendCL library was found or the runtime cannot list its devices.
    ///
    /// ```
    /// assert!(ascendcl::Device::count()? > 0);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn count() -> Result<u32> {
        // SAFETY: the call has no preconditions.
        unsafe { raw::aclrtGetDeviceCount() }
    }

    /// Returns all devices that are visible to the process.
    ///
    /// # Errors
    ///
    /// Fails if no AscendCL library was found or the runtime cannot list its devices.
    ///
    /// ```
    /// use ascendcl::Device;
    /// assert_eq!(Device::all()?.count(), Device::count()? as usize);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn all() -> Result<impl Iterator<Item = Device>> {
        Ok((0..Device::count()?).map(Device))
    }

    /// Returns the name of the chip, such as `Ascend910B3`.
    ///
    /// # Errors
    ///
    /// Fails if no AscendCL library was found or the runtime cannot identify the chip.
    ///
    /// ```
    /// assert!(ascendcl::Device::soc_name()?.starts_with("Ascend"));
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn soc_name() -> Result<String> {
        // SAFETY: the call has no preconditions.
        let name = unsafe { raw::aclrtGetSocName() }?;
        name.ok_or_else(|| Error::refused("aclrtGetSocName", "the runtime returned no chip name".to_owned()))
    }

    /// Returns the index of the device, which is its id in the C API.
    ///
    /// ```
    /// assert_eq!(ascendcl::Device::new(1)?.index(), 1);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    #[must_use]
    pub fn index(self) -> u32 {
        self.0
    }
}
