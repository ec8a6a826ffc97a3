//! Address ranges from the operating system. The only file that maps memory.
//!
//! A region reserves addresses; memory is committed by the kernel on first touch. It never forms a
//! reference to bytes that programs may touch: it hands out addresses.

use softacl_faults::Resource;
use softacl_faults::system;
use softacl_sync::allocation_record::AllocationRecord;
use std::ffi::CStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize};

pub const HUGE_PAGE: usize = 2 << 20;

/// What the host program may do with the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reserved: every touch faults.
    None,
    /// Ordinary memory, committed on first touch, in huge pages where they can be had.
    ReadWrite,
    /// The same in small pages, for what is touched here and there.
    Sparse,
}

/// What may be done with memory that was put into a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rights {
    None,
    Read,
    ReadWrite,
}

impl Rights {
    fn protection(self) -> i32 {
        match self {
            Rights::None => libc::PROT_NONE,
            Rights::Read => libc::PROT_READ,
            Rights::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        }
    }
}

/// A reserved address range, given back on drop.
#[derive(Debug)]
pub struct Region {
    /// Aligned to huge pages.
    start: usize,
    len: usize,
    mapped: (usize, usize),
}

impl Region {
    pub fn reserve(len: usize, access: Access) -> io::Result<Region> {
        // Huge pages are aligned, and nothing is mapped right before and behind the region.
        let whole = len + 3 * HUGE_PAGE;
        system::check_allowed(Resource::Map, whole)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = (mapped as usize + HUGE_PAGE).next_multiple_of(HUGE_PAGE);
        if access != Access::None {
            let open = || {
                // SAFETY: the range lies in the mapping made just above.
                match unsafe { libc::mprotect(start as *mut _, len, libc::PROT_READ | libc::PROT_WRITE) } {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            };
            if let Err(error) = system::check_allowed(Resource::Protect, len).and_then(|()| open()) {
                // SAFETY: exactly the mapping made above, which nobody knows yet.
                unsafe { libc::munmap(mapped, whole) };
                return Err(error);
            }
        }
        if access == Access::ReadWrite {
            // SAFETY: as above. Huge pages are a wish: failure changes nothing.
            unsafe { libc::madvise(start as *mut _, len, libc::MADV_HUGEPAGE) };
        }
        Ok(Region { start, len, mapped: (mapped as usize, whole) })
    }

    /// Memory that exists at two places, the second at the returned distance before the region. The
    /// second one is never unmapped: an observer may have protected parts of it, and the machine of a
    /// process lives as long as the process.
    pub fn reserve_double_mapped(len: usize) -> io::Result<(Region, isize)> {
        let file = memory_file(c"softacl-pinned", len)?;
        let region = Region::reserve(len, Access::None)?;
        let program = ManuallyDrop::new(Region::reserve(len, Access::None)?);
        for start in [region.start, program.start] {
            let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            system::check_allowed(Resource::Map, len)?;
            // SAFETY: replaces a part of a mapping that was made just above and that nobody knows yet.
            let mapped = unsafe { libc::mmap(start as *mut _, len, access, flags, file.as_raw_fd(), 0) };
            if mapped == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        let shift = region.start.wrapping_sub(program.start) as isize;
        Ok((region, shift))
    }

    /// Addresses from `start` on, which must all be free.
    pub fn reserve_at(start: usize, len: usize) -> io::Result<Region> {
        system::check_allowed(Resource::Map, len)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: the flags forbid that anything is replaced.
        let mapped = unsafe { libc::mmap(start as *mut _, len, libc::PROT_NONE, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let region = Region { start: mapped as usize, len, mapped: (mapped as usize, len) };
        // Kernels that do not know the flag take the address as a wish.
        if region.start == start { Ok(region) } else { Err(io::Error::from(io::ErrorKind::AddrInUse)) }
    }

    /// Puts a part of a file where a part of the region is. What was there is gone; accesses at this
    /// moment find the old bytes or the new ones.
    pub fn map_file(&self, start: usize, len: usize, file: &File, offset: usize, rights: Rights) -> io::Result<()> {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
        self.replace(start, len, flags, rights, file.as_raw_fd(), offset)
    }

    /// Takes the memory of a part of the region away: every touch faults.
    pub fn unmap(&self, start: usize, len: usize) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        self.replace(start, len, flags, Rights::None, -1, 0)
    }

    /// Puts fresh memory where a part of the region is.
    pub fn map_fresh(&self, start: usize, len: usize) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        self.replace(start, len, flags, Rights::ReadWrite, -1, 0)
    }

    pub fn protect(&self, start: usize, len: usize, rights: Rights) -> io::Result<()> {
        assert!(start >= self.start && start - self.start + len <= self.len);
        system::check_allowed(Resource::Protect, len)?;
        // SAFETY: the range is inside our own mapping; whoever it belongs to asked for the change.
        let done = unsafe { libc::mprotect(start as *mut _, len, rights.protection()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn replace(
        &self,
        start: usize,
        len: usize,
        flags: i32,
        rights: Rights,
        file: i32,
        offset: usize,
    ) -> io::Result<()> {
        assert!(start >= self.start && start - self.start + len <= self.len);
        let offset = offset as libc::off_t;
        system::check_allowed(Resource::Map, len)?;
        // SAFETY: only a part of our own mapping is replaced, and the caller owns its contents.
        let mapped = unsafe { libc::mmap(start as *mut _, len, rights.protection(), flags, file, offset) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the range was mapped just above. Huge pages are a wish: failure changes nothing.
        unsafe { libc::madvise(mapped, len, libc::MADV_HUGEPAGE) };
        Ok(())
    }

    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.len
    }

    pub fn start(&self) -> usize {
        self.start
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Gives the memory behind a part of the region back; it reads as zero afterwards. Where the pages of the system
    /// are larger than ours, what shares a page with somebody else stays.
    pub fn decommit(&self, start: usize, len: usize) {
        assert!(start >= self.start && start - self.start + len <= self.len);
        let page = system_page();
        let end = start + len;
        let (start, end) = (start.next_multiple_of(page), end - end % page);
        let len = end.saturating_sub(start);
        if len == 0 {
            return;
        }
        // SAFETY: the range is inside our own mapping, and the caller owns its contents. Shared memory
        // is given back by punching a hole; private memory refuses that and is simply not needed.
        unsafe {
            if libc::madvise(start as *mut _, len, libc::MADV_REMOVE) != 0 {
                libc::madvise(start as *mut _, len, libc::MADV_DONTNEED);
            }
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this is exactly the mapping made in `reserve`; the region is its only owner.
        unsafe { libc::munmap(self.mapped.0 as *mut _, self.mapped.1) };
    }
}

/// What is valid when all its bytes are zero, and shared by threads at any time.
///
/// # Safety
/// The type is made of atomic integers and nothing else.
pub unsafe trait Counters: Sync {}

// SAFETY: an atomic integer.
unsafe impl Counters for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Counters for AtomicUsize {}
// SAFETY: two of them.
unsafe impl Counters for AllocationRecord {}

/// A large array of zeroed counters that costs memory only where it is touched.
pub struct SparseArray<T> {
    region: Region,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Counters> SparseArray<T> {
    pub fn new(len: usize, access: Access) -> io::Result<SparseArray<T>> {
        let bytes = (len * size_of::<T>()).next_multiple_of(HUGE_PAGE);
        Ok(SparseArray { region: Region::reserve(bytes, access)?, len, kind: PhantomData })
    }

    #[inline]
    pub fn at(&self, index: usize) -> &T {
        assert!(index < self.len);
        let address = self.region.start + index * size_of::<T>();
        // SAFETY: inside the region (asserted), aligned, zero-initialised by the kernel, private to
        // this type, and only ever accessed atomically.
        unsafe { &*(address as *const T) }
    }
}

/// A file that exists in memory only, as long as someone has it open or mapped. The name is for people
/// who look into `/proc`.
pub fn memory_file(name: &CStr, len: usize) -> io::Result<File> {
    system::check_allowed(Resource::MemoryFile, len)?;
    // SAFETY: the name is a C string; the result is a descriptor or an error.
    let create = || unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    let mut descriptor = create();
    if descriptor < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EMFILE) && raise_fd_limit() {
        descriptor = create();
    }
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is ours alone, and nothing else closes it.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(len as u64)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    // Whoever has it mapped can rely on its length, whatever the others do.
    // SAFETY: changes our own file.
    if unsafe { libc::fcntl(descriptor, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if descriptor as usize > MANY_FILES {
        raise_fd_limit();
    }
    Ok(file)
}

/// Opens a memory file of another process. Who it belongs to and what it is are checked: a key comes from outside,
/// and a process with more rights than its maker must not be led to another file by it.
pub fn open_memory_file(process: u32, descriptor: u64) -> io::Result<File> {
    let refused = || io::Error::from(io::ErrorKind::NotFound);
    let path = format!("/proc/{process}/fd/{descriptor}");
    if !fs::read_link(&path)?.as_os_str().as_bytes().starts_with(FILE_NAME) {
        return Err(refused());
    }
    // What the link names may have changed since: opening must not wait, and the file is looked at.
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let status = file.metadata()?;
    // SAFETY: asks for a number; asks about our own descriptor. Only memory files have seals.
    let (user, seals) = unsafe { (libc::geteuid(), libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS)) };
    let is_ours = status.is_file() && status.uid() == user && seals >= 0 && seals & libc::F_SEAL_SHRINK != 0;
    if is_ours { Ok(file) } else { Err(refused()) }
}

/// How the names of all memory files begin in `/proc`.
const FILE_NAME: &[u8] = b"/memfd:softacl-";

/// Files that leave the program enough of the usual limit of 1024.
const MANY_FILES: usize = 512;

/// Raises the number of files that the process may have open to what it may be raised to.
fn raise_fd_limit() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is read into a local value, and written from it.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 || limit.rlim_cur >= limit.rlim_max {
            return false;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
    }
}

/// Random bytes that nobody can guess.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // SAFETY: writes at most N bytes into a local value.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
    if got == N as isize { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// Whether all pages of a range are mapped, whatever may be done with them.
pub fn is_mapped(address: usize, len: usize) -> bool {
    let start = address - address % system_page();
    let Some(end) = address.checked_add(len) else { return false };
    // Asks which pages are in memory, not because the answer matters: the system refuses where there is none. Other
    // calls that would tell count as reading the bytes in valgrind.
    let mut answers = [0_u8; 4096];
    let step = answers.len() * system_page();
    (start..end).step_by(step).all(|part| {
        // SAFETY: writes a byte for each page of the part, of which there are as many as answers at most.
        let done = unsafe { libc::mincore(part as *mut _, step.min(end - part), answers.as_mut_ptr()) } == 0;
        done || io::Error::last_os_error().raw_os_error() != Some(libc::ENOMEM)
    })
}

/// Bytes of physical memory of this machine.
pub fn physical_memory() -> usize {
    // SAFETY: sysconf only reads its argument.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    usize::try_from(pages).unwrap_or(0) * system_page()
}

/// Bytes of a page of the system: 4 KiB, and up to 64 KiB on AArch64.
fn system_page() -> usize {
    // SAFETY: sysconf only reads its argument.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(crate::extent::PAGE)
}
