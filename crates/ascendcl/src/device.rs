//! Devices: which there are, and what they are.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::raw;
use ascendcl_sys::{ACL_ERROR_RT_INVALID_DEVICEID, ACL_HBM_MEM};

/// A device, by its number. It holds nothing: work is done in a [`Context`].
///
/// ```
/// use ascendcl::Device;
///
/// for device in Device::all()? {
///     println!("device {} is an {}", device.index(), Device::soc_name()?);
/// }
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device(u32);

/// Memory of a device, in bytes.
///
/// ```
/// # let context = ascendcl::Device::new(0)?.new_context()?;
/// let memory = context.memory()?;
/// assert!(memory.free <= memory.total);
/// # Ok::<(), ascendcl::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// What can still be allocated.
    pub free: usize,
    /// All of it.
    pub total: usize,
}

impl Device {
    /// The device with this number.
    ///
    /// ```
    /// use ascendcl::Device;
    /// assert!(Device::new(0).is_ok() && Device::new(1000).is_err());
    /// ```
    pub fn new(number: u32) -> Result<Device> {
        let count = Device::count()?;
        if number < count {
            return Ok(Device(number));
        }
        let sentence = format!("there is no device {number}; there are {count}");
        Err(Error::new(ACL_ERROR_RT_INVALID_DEVICEID, "Device::new", sentence))
    }

    /// How many devices this process sees.
    ///
    /// ```
    /// assert!(ascendcl::Device::count()? > 0);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn count() -> Result<u32> {
        // SAFETY: asking has no conditions.
        unsafe { raw::aclrtGetDeviceCount() }
    }

    /// All devices that this process sees.
    ///
    /// ```
    /// use ascendcl::Device;
    /// assert_eq!(Device::all()?.count(), Device::count()? as usize);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn all() -> Result<impl Iterator<Item = Device>> {
        Ok((0..Device::count()?).map(Device))
    }

    /// The name of the chip, such as `Ascend910B3`.
    ///
    /// ```
    /// assert!(ascendcl::Device::soc_name()?.starts_with("Ascend"));
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn soc_name() -> Result<String> {
        // SAFETY: asking has no conditions.
        let name = unsafe { raw::aclrtGetSocName() }?;
        name.ok_or_else(|| Error::refused("aclrtGetSocName", "the runtime does not know its chip".to_owned()))
    }

    /// The number that the program uses for it.
    ///
    /// ```
    /// assert_eq!(ascendcl::Device::new(1)?.index(), 1);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn index(self) -> u32 {
        self.0
    }

    /// A new context on this device: the same as [`Context::new`].
    ///
    /// ```
    /// let context = ascendcl::Device::new(0)?.new_context()?;
    /// assert_eq!(context.device().index(), 0);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn new_context(self) -> Result<Context> {
        Context::new(self)
    }
}

impl Context {
    /// How much memory the device has, and how much of it is free.
    ///
    /// ```
    /// # let context = ascendcl::Device::new(0)?.new_context()?;
    /// let before = context.memory()?;
    /// let buffer = context.alloc_zeros::<u8>(1 << 20)?;
    /// assert!(context.memory()?.free < before.free);
    /// # Ok::<(), ascendcl::Error>(())
    /// ```
    pub fn memory(&self) -> Result<MemoryInfo> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both results have their place.
        self.with_current(|| unsafe { raw::aclrtGetMemInfo(ACL_HBM_MEM, &mut free, &mut total) })?;
        Ok(MemoryInfo { free, total })
    }
}
