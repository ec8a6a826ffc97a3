//! Address ranges and memory files from the operating system. The only module that maps memory.
//!
//! A region reserves addresses; the kernel commits memory on first access. A region never forms a reference to bytes
//! that programs may access: it returns addresses.

use softacl_faults::Resource;
use softacl_faults::system;
use softacl_sync::allocation_record::AllocationRecord;
use std::ffi::CStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize};

/// Size and alignment of a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// How the addresses of a region can be accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reserved only: every access faults.
    None,
    /// Memory that is committed on first access, in huge pages if they are available.
    ReadWrite,
    /// Memory that is committed on first access, in small pages. For sparse accesses.
    Sparse,
}

/// Page protection of memory that is mapped into a region.
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

/// A reserved address range. Unmapped on drop.
#[derive(Debug)]
pub struct Region {
    /// Aligned to huge pages.
    start: usize,
    len: usize,
    /// The whole mapping: start and length.
    mapped: (usize, usize),
}

impl Region {
    /// Reserves addresses.
    pub fn reserve(len: usize, access: Access) -> io::Result<Region> {
        // Room to align to huge pages, and a gap without memory before and after the region.
        let whole = len + 3 * HUGE_PAGE;
        system::check_allowed(Resource::Map, whole)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses replaces no other.
        let mapped = unsafe { libc::mmap(ptr::null_mut(), whole, libc::PROT_NONE, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = (mapped as usize + HUGE_PAGE).next_multiple_of(HUGE_PAGE);
        if access != Access::None {
            let open = || {
                // SAFETY: the range is inside the mapping made above.
                match unsafe { libc::mprotect(start as *mut _, len, libc::PROT_READ | libc::PROT_WRITE) } {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            };
            if let Err(error) = system::check_allowed(Resource::Protect, len).and_then(|()| open()) {
                // SAFETY: exactly the mapping made above. Its address has not been returned to any code.
                unsafe { libc::munmap(mapped, whole) };
                return Err(error);
            }
        }
        if access == Access::ReadWrite {
            // SAFETY: the range is inside the mapping made above. The call is only advice: failure has no effect.
            unsafe { libc::madvise(start as *mut _, len, libc::MADV_HUGEPAGE) };
        }
        Ok(Region { start, len, mapped: (mapped as usize, whole) })
    }

    /// Reserves memory that is mapped at two addresses. Returns the region and its distance from the other mapping,
    /// which the program uses. That mapping is never unmapped: an observer may have protected parts of it, and the
    /// machine of a process lives as long as the process.
    pub fn reserve_double_mapped(len: usize) -> io::Result<(Region, isize)> {
        let file = match memory_file(c"softacl-pinned", len) {
            // A limit on file sizes (ulimit -f).
            Err(error) if error.raw_os_error() == Some(libc::EFBIG) => return Region::reserve_duplicated(len),
            file => file?,
        };
        let region = Region::reserve(len, Access::None)?;
        let program = ManuallyDrop::new(Region::reserve(len, Access::None)?);
        for start in [region.start, program.start] {
            let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            system::check_allowed(Resource::Map, len)?;
            // SAFETY: replaces a part of a mapping made above, whose address has not been returned to any code.
            let mapped = unsafe { libc::mmap(start as *mut _, len, access, flags, file.as_raw_fd(), 0) };
            if mapped == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        let shift = region.start.wrapping_sub(program.start) as isize;
        Ok((region, shift))
    }

    /// As `reserve_double_mapped`, without a file: the second mapping is a duplicate of the first.
    fn reserve_duplicated(len: usize) -> io::Result<(Region, isize)> {
        let region = Region::reserve(len, Access::None)?;
        let program = ManuallyDrop::new(Region::reserve(len, Access::None)?);
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        system::check_allowed(Resource::Map, len)?;
        // SAFETY: replaces a part of a mapping made above, whose address has not been returned to any code.
        let mapped = unsafe { libc::mmap(region.start as *mut _, len, access, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: as above. An old length of 0 duplicates a shared mapping instead of moving it.
        let duplicate = unsafe { libc::mremap(mapped, 0, len, flags, program.start as *mut libc::c_void) };
        if duplicate == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let shift = region.start.wrapping_sub(program.start) as isize;
        Ok((region, shift))
    }

    /// Reserves the addresses from `start` on. Fails if not all of them are free.
    pub fn reserve_at(start: usize, len: usize) -> io::Result<Region> {
        system::check_allowed(Resource::Map, len)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: MAP_FIXED_NOREPLACE replaces no other mapping; kernels without it choose an address themselves.
        let mapped = unsafe { libc::mmap(start as *mut _, len, libc::PROT_NONE, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let region = Region { start: mapped as usize, len, mapped: (mapped as usize, len) };
        // Kernels without MAP_FIXED_NOREPLACE treat the address as a hint.
        if region.start == start { Ok(region) } else { Err(io::Error::from(io::ErrorKind::AddrInUse)) }
    }

    /// Maps a part of a file over a part of the region and discards the previous contents. Concurrent accesses see the
    /// old bytes or the new ones.
    pub fn map_file(&self, start: usize, len: usize, file: &File, offset: usize, rights: Rights) -> io::Result<()> {
        let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
        self.replace(start, len, flags, rights, file.as_raw_fd(), offset)
    }

    /// Removes the memory of a part of the region: every access faults.
    pub fn unmap(&self, start: usize, len: usize) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        self.replace(start, len, flags, Rights::None, -1, 0)
    }

    /// Maps zeroed memory over a part of the region.
    pub fn map_fresh(&self, start: usize, len: usize) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        self.replace(start, len, flags, Rights::ReadWrite, -1, 0)
    }

    /// Changes the page protection of a part of the region.
    pub fn protect(&self, start: usize, len: usize, rights: Rights) -> io::Result<()> {
        assert!(start >= self.start && start - self.start + len <= self.len);
        system::check_allowed(Resource::Protect, len)?;
        // SAFETY: the range is inside our mapping (asserted above), to which no references exist (see the module).
        let done = unsafe { libc::mprotect(start as *mut _, len, rights.protection()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Replaces the mapping of a part of the region.
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
        // SAFETY: the range is inside our mapping (asserted above), to which no references exist (see the module).
        let mapped = unsafe { libc::mmap(start as *mut _, len, rights.protection(), flags, file, offset) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the range was mapped just above. The call is only advice: failure has no effect.
        unsafe { libc::madvise(mapped, len, libc::MADV_HUGEPAGE) };
        Ok(())
    }

    /// True if the address is in the region.
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.len
    }

    /// The first address, aligned to huge pages.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Number of addresses.
    #[allow(clippy::len_without_is_empty, reason = "a region is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the memory of a part of the region to the system; it reads as zero afterwards. If pages of the system
    /// are larger than `PAGE`, those that are only partly in the range are kept.
    pub fn decommit(&self, start: usize, len: usize) {
        assert!(start >= self.start && start - self.start + len <= self.len);
        let page = system_page();
        let end = start + len;
        let (start, end) = (start.next_multiple_of(page), end - end % page);
        let len = end.saturating_sub(start);
        if len == 0 {
            return;
        }
        // Shared memory is returned by punching a hole. Private memory rejects that and is discarded instead.
        // SAFETY: the range is inside our mapping (asserted above), to which no references exist (see the module).
        unsafe {
            if libc::madvise(start as *mut _, len, libc::MADV_REMOVE) != 0 {
                libc::madvise(start as *mut _, len, libc::MADV_DONTNEED);
            }
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that the constructor made. The region is its only owner.
        unsafe { libc::munmap(self.mapped.0 as *mut _, self.mapped.1) };
    }
}

/// A type that is valid if all its bytes are zero and that threads can share at any time.
///
/// # Safety
///
/// The type consists only of atomic integers.
pub unsafe trait Counters: Sync {}

// SAFETY: an atomic integer.
unsafe impl Counters for AtomicU32 {}
// SAFETY: an atomic integer.
unsafe impl Counters for AtomicUsize {}
// SAFETY: two atomic integers, `repr(C)`.
unsafe impl Counters for AllocationRecord {}

/// A large zeroed array. Memory is committed on first access.
pub struct SparseArray<T> {
    region: Region,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Counters> SparseArray<T> {
    /// An array of `len` zeroed elements.
    pub fn new(len: usize, access: Access) -> io::Result<SparseArray<T>> {
        let bytes = (len * size_of::<T>()).next_multiple_of(HUGE_PAGE);
        Ok(SparseArray { region: Region::reserve(bytes, access)?, len, kind: PhantomData })
    }

    /// The element at `index`, which must be in bounds.
    #[inline]
    pub fn at(&self, index: usize) -> &T {
        assert!(index < self.len);
        let address = self.region.start + index * size_of::<T>();
        // SAFETY: the element is inside the region (asserted; `new` reserved `len` elements), aligned, and zeroed by
        // the kernel, which `Counters` makes valid. The region is private to this type, and `Counters` are accessed
        // atomically.
        unsafe { &*(address as *const T) }
    }
}

/// Creates a file that exists only in memory, as long as a process has it open or mapped. The name appears in `/proc`.
pub fn memory_file(name: &CStr, len: usize) -> io::Result<File> {
    system::check_allowed(Resource::MemoryFile, len)?;
    // SAFETY: `name` is a valid C string for the duration of the call.
    let create = || unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    let mut descriptor = create();
    if descriptor < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EMFILE) && raise_fd_limit() {
        descriptor = create();
    }
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just created, and no other code owns it.
    let file = unsafe { File::from_raw_fd(descriptor) };
    without_size_signal(|| file.set_len(len as u64))?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    // Seal the length, so that a process that has the file mapped can rely on it.
    // SAFETY: the descriptor is open; F_ADD_SEALS takes no pointers.
    if unsafe { libc::fcntl(descriptor, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if descriptor as usize > MANY_FILES {
        raise_fd_limit();
    }
    Ok(file)
}

/// Runs an operation on a file. A limit on file sizes (`ulimit -f`) then shows as an error and does not end the process
/// with SIGXFSZ.
pub fn without_size_signal<T>(operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut signals = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the calls read and write only these two local sets. All zeroes is a valid set, so both are initialized.
    let was_blocked = unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), before.as_mut_ptr());
        libc::sigismember(before.as_ptr(), libc::SIGXFSZ) == 1
    };
    let result = operation();
    if !was_blocked {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both sets are initialized, as above. Takes the signal out of the queue of this thread, if it is there.
        unsafe {
            libc::sigtimedwait(signals.as_ptr(), ptr::null_mut(), &now);
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        }
    }
    result
}

/// Opens a memory file of another process. Checks its owner and its type: keys come from outside, and a forged one must
/// not make a privileged process open another file.
pub fn open_memory_file(process: u32, descriptor: u64) -> io::Result<File> {
    let refused = || io::Error::from(io::ErrorKind::NotFound);
    let path = format!("/proc/{process}/fd/{descriptor}");
    if !fs::read_link(&path)?.as_os_str().as_bytes().starts_with(FILE_NAME) {
        return Err(refused());
    }
    // The target of the link may have changed since then: do not block in `open`, and check the opened file.
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let status = file.metadata()?;
    // Only memory files have seals.
    // SAFETY: `geteuid` has no preconditions; the descriptor is open and F_GET_SEALS takes no pointers.
    let (user, seals) = unsafe { (libc::geteuid(), libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS)) };
    let is_ours = status.is_file() && status.uid() == user && seals >= 0 && seals & libc::F_SEAL_SHRINK != 0;
    if is_ours { Ok(file) } else { Err(refused()) }
}

/// Prefix of the names of our memory files in `/proc`.
const FILE_NAME: &[u8] = b"/memfd:softacl-";

/// Descriptor number from which on the limit is raised, to leave the program enough of the usual limit of 1024.
const MANY_FILES: usize = 512;

/// Raises RLIMIT_NOFILE to its hard limit. Returns `false` if it cannot be raised.
fn raise_fd_limit() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls access only the local `limit`.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 || limit.rlim_cur >= limit.rlim_max {
            return false;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
    }
}

/// Cryptographically secure random bytes.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // SAFETY: the call writes at most N bytes into the local array of N bytes.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
    if got == N as isize { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// True if all pages of a range are mapped, with any protection.
pub fn is_mapped(address: usize, len: usize) -> bool {
    let start = address - address % system_page();
    let Some(end) = address.checked_add(len) else { return false };
    // `mincore` fails with ENOMEM if a page is not mapped; its result is not used. valgrind treats the alternatives as
    // reads of the bytes.
    let mut answers = [0_u8; 4096];
    let step = answers.len() * system_page();
    (start..end).step_by(step).all(|part| {
        // SAFETY: the call writes one byte per page of the part, at most as many as `answers` has.
        let done = unsafe { libc::mincore(part as *mut _, step.min(end - part), answers.as_mut_ptr()) } == 0;
        done || io::Error::last_os_error().raw_os_error() != Some(libc::ENOMEM)
    })
}

/// Bytes of physical memory of the host.
pub fn physical_memory() -> usize {
    // SAFETY: `sysconf` has no preconditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    usize::try_from(pages).unwrap_or(0) * system_page()
}

/// Page size of the system: 4 KiB, or up to 64 KiB on AArch64.
pub fn system_page() -> usize {
    // SAFETY: `sysconf` has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(crate::extent::PAGE)
}
