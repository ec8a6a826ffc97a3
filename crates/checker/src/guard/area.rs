//! One range of host memory that the guard watches: the window of pinned memory, or the whole pages of a registered
//! range. Counts the copies in flight per page and sets the protection that follows from the counts. No other file
//! changes page protection. What an access to a protected page means is decided in `guard`.

use softacl_engine::observer::{Mode, Touch, Window};
use softacl_memory::segv;
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::identity;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) const PAGE: usize = 4096;
/// Use counts of a page: the low half counts copies in flight that read it, the high half those that write it.
pub(super) const READER: u64 = 1;
pub(super) const WRITER: u64 = 1 << 32;
/// Flag next to the counts: the page is not protected until its memory is freed.
const EXEMPT: u64 = 1 << 63;
/// Flag next to the counts: a system call or the engine uses the page, so it is not protected now.
const OPEN: u64 = 1 << 62;
const FLAGS: u64 = EXEMPT | OPEN;
/// Number of pages that share a count in addition to their own. A copy that covers a whole block is counted once, so
/// that large copies are cheap.
pub(super) const BLOCK_PAGES: usize = 64;
/// Copies of at least this length get huge pages: protecting 256 small pages takes as long as copying half of their
/// bytes.
const MIN_HUGE_COPY: usize = 512 << 10;
const HUGE_PAGE: usize = 2 << 20;
/// Maximum number of huge pages that are requested. An allocation may leave half of one unused.
const MAX_HUGE_PAGES: usize = 1024;
/// Maximum number of huge pages that are requested for one copy. The kernel copies the bytes of each, so that a large
/// buffer gets its huge pages over several copies.
const MAX_HUGE_PAGES_PER_COPY: usize = 16;
/// `MADV_COLLAPSE`, available since Linux 6.1.
const COLLAPSE: i32 = 25;

/// How the checker reads memory of an area that the program cannot access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The second mapping, which the engine uses. It is never protected.
    Mapping,
    /// The file of the process's memory. Registered memory has no second mapping.
    MemoryFile,
}

/// Adjacent pages that copies mostly cover together.
#[derive(Debug)]
struct Block {
    /// Use counts of copies that cover the whole block.
    state: AtomicU64,
    /// Number of pages with use counts of copies that cover the block only partly.
    single: AtomicU32,
}

/// A range of watched host memory.
pub(crate) struct Area {
    window: Window,
    pub(crate) door: Door,
    /// Use counts per page, without those of the block.
    pages: &'static [AtomicU64],
    blocks: &'static [Block],
    /// Pages that system calls and tasks use now. They have the flag `OPEN`.
    users: Mutex<Vec<Range<usize>>>,
    /// Set when a page is exempt for the first time.
    has_exempt_pages: AtomicBool,
    /// The memory can be written through another mapping, which the guard does not see.
    pub(crate) is_shared: bool,
    /// Huge pages that were requested, whether the kernel provided them or not.
    huge: Mutex<BTreeSet<usize>>,
    /// For allocations with dedicated huge pages: the page after the allocation, and the page after its last huge
    /// page. The pages between them are unused and are protected together with the allocation.
    tails: Mutex<BTreeMap<usize, usize>>,
    /// Number of pages that the kernel refused to protect.
    pub(crate) refused_pages: AtomicU64,
}

impl Area {
    pub(crate) fn new(window: Window, door: Door, is_shared: bool) -> Area {
        Area {
            window,
            door,
            has_exempt_pages: AtomicBool::new(false),
            is_shared,
            pages: zeroed(window.len / PAGE),
            blocks: zeroed((window.len / PAGE).div_ceil(BLOCK_PAGES)),
            users: Mutex::default(),
            huge: Mutex::default(),
            tails: Mutex::default(),
            refused_pages: AtomicU64::new(0),
        }
    }

    /// First byte and length of the area.
    pub(crate) fn bounds(&self) -> (usize, usize) {
        (self.window.start, self.window.len)
    }

    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.window.start) < self.window.len
    }

    /// The part of a range that lies in the area. Empty if there is none.
    pub(crate) fn clip(&self, start: usize, len: usize) -> Range<usize> {
        let from = start.max(self.window.start);
        from..start.saturating_add(len).min(self.window.start + self.window.len).max(from)
    }

    /// Page indexes of the part of a range that lies in the area.
    pub(super) fn span(&self, start: usize, len: usize) -> Range<usize> {
        let part = self.clip(start, len);
        if part.is_empty() {
            return 0..0;
        }
        (part.start - self.window.start) / PAGE..(part.end - self.window.start).div_ceil(PAGE)
    }

    pub(super) fn page(&self, address: usize) -> usize {
        (address - self.window.start) / PAGE
    }

    pub(super) fn address(&self, page: usize) -> usize {
        self.window.start + page * PAGE
    }

    /// Counts a copy in flight and protects its pages.
    pub(super) fn add(&self, touch: &Touch) {
        let one = if touch.mode == Mode::Read { READER } else { WRITER };
        if touch.len >= MIN_HUGE_COPY && self.door == Door::Mapping {
            self.request_huge_pages(touch);
        }
        self.update(self.span(touch.address, touch.len), |state| state + one, identity);
    }

    /// Removes a copy that is no longer in flight. Its pages become accessible when the run is applied.
    pub(super) fn remove<'a>(&'a self, touch: &Touch, run: &mut PageRun<'a>) {
        let (one, mask) = match touch.mode {
            Mode::Read => (READER, WRITER - 1),
            Mode::Write => (WRITER, OPEN - WRITER),
        };
        // The counts of a page that was freed in between are zero.
        let less = |state| if state & mask == 0 { state } else { state - one };
        self.change(self.span(touch.address, touch.len), less, identity, run);
    }

    /// Resets all counts of memory that is freed, and unprotects it.
    pub(super) fn clear(&self, start: usize, len: usize) {
        let pages = self.span(start, len);
        self.users().retain(|user| user.start >= pages.end || user.end <= pages.start);
        self.update(pages.clone(), |_| 0, |_| 0);
        // Pages may have been unprotected one at a time, which leaves out the tail.
        if let Some(end) = self.tails().remove(&pages.end) {
            self.protect(pages.end..end, libc::PROT_READ | libc::PROT_WRITE);
        }
    }

    /// Exempts pages of registered memory to which the program has closed access itself: opening them would let a copy
    /// succeed that must fail.
    pub(super) fn exempt_inaccessible(&self, start: usize, len: usize) {
        if self.door == Door::Mapping {
            return;
        }
        let _guard = segv::enter();
        for page in self.span(start, len).filter(|page| self.state(*page) == 0) {
            // SAFETY: part of memory that the program registered and passed to the call in progress.
            if !unsafe { segv::is_readable(self.address(page), 1) } {
                self.exempt(self.address(page), 1);
            }
        }
    }

    /// Stops protecting the pages of a range. Like every change of the counts, this is called by one thread at a time.
    pub(super) fn exempt(&self, start: usize, len: usize) {
        self.has_exempt_pages.store(true, Ordering::Relaxed);
        for page in self.span(start, len) {
            self.update(page..page + 1, |state| state | EXEMPT, identity);
        }
    }

    /// True if all pages of a range are exempt.
    pub(super) fn is_exempt(&self, start: usize, len: usize) -> bool {
        self.span(start, len).all(|page| self.state(page) & EXEMPT != 0)
    }

    /// The parts of a range whose changes the guard does not see: exempt pages, or all of memory that has another
    /// mapping.
    pub(super) fn unseen_parts(&self, start: usize, len: usize) -> Vec<Range<usize>> {
        let part = self.clip(start, len);
        if self.is_shared && !part.is_empty() {
            return vec![part];
        }
        if !self.has_exempt_pages() {
            return Vec::new();
        }
        let exempt = self.span(start, len).filter(|page| self.state(*page) & EXEMPT != 0).map(|page| {
            let first = self.address(page);
            first.max(part.start)..(first + PAGE).min(part.end)
        });
        exempt.collect()
    }

    pub(super) fn has_exempt_pages(&self) -> bool {
        self.has_exempt_pages.load(Ordering::Relaxed)
    }

    /// Unprotects the pages of a range until `close`. Called by one thread at a time.
    pub(super) fn open(&self, start: usize, len: usize) {
        let pages = self.span(start, len);
        self.users().push(pages.clone());
        let mut run = PageRun::default();
        for page in pages {
            self.change(page..page + 1, |state| state | OPEN, identity, &mut run);
        }
        run.apply();
    }

    /// Ends an `open`: protects the pages again if copies in flight use them. Called by one thread at a time.
    pub(super) fn close(&self, start: usize, len: usize) {
        let pages = self.span(start, len);
        let mut users = self.users();
        let Some(index) = users.iter().position(|user| *user == pages) else { return };
        users.swap_remove(index);
        let mut run = PageRun::default();
        for page in pages.filter(|page| !users.iter().any(|user| user.contains(page))) {
            self.change(page..page + 1, |state| state & !OPEN, identity, &mut run);
        }
        run.apply();
    }

    /// True if the program cannot access a page in this way, or can only because of an `open` that may end first.
    pub(super) fn is_closed(&self, page: usize, is_write: bool) -> bool {
        let wanted = if is_write { libc::PROT_WRITE } else { libc::PROT_READ };
        access(self.state(page) & !OPEN) & wanted == 0
    }

    /// Use counts of a page including its block, and the flags.
    fn state(&self, page: usize) -> u64 {
        self.pages[page].load(Ordering::Relaxed) + self.blocks[page / BLOCK_PAGES].state.load(Ordering::Relaxed)
    }

    /// Use counts of a page including its block.
    pub(super) fn in_flight(&self, page: usize) -> u64 {
        self.state(page) & !FLAGS
    }

    /// Reads memory that the program may not be able to access. Returns `false` if the system refuses.
    pub(super) fn read(&self, start: usize, buffer: &mut [u8]) -> bool {
        assert!(self.contains(start) && start - self.window.start + buffer.len() <= self.window.len);
        if self.door == Door::MemoryFile {
            static FILE: OnceLock<Option<File>> = OnceLock::new();
            let file = FILE.get_or_init(|| File::open("/proc/self/mem").ok());
            return file.as_ref().is_some_and(|file| file.read_exact_at(buffer, start as u64).is_ok());
        }
        let source = start.wrapping_add_signed(self.window.shift) as *const u8;
        // SAFETY: inside the engine's mapping of the window, which is always readable. Other threads may write it
        // concurrently; then any mixture of old and new bytes is acceptable.
        unsafe { std::ptr::copy_nonoverlapping(source, buffer.as_mut_ptr(), buffer.len()) };
        true
    }

    /// Separates a large allocation from the mappings of its neighbors, so that the kernel neither splits nor merges
    /// mappings when its protection changes. The unused pages next to it get `PROT_WRITE`, which has the effect of
    /// read and write but is a different value.
    pub(crate) fn isolate(&self, start: usize, size: usize) {
        if size < MIN_HUGE_COPY || !self.contains(start) {
            return;
        }
        let first = self.page(start);
        let mut after = (start + size - self.window.start).div_ceil(PAGE);
        if size >= HUGE_PAGE / 2 && start.is_multiple_of(HUGE_PAGE) {
            let end = after.next_multiple_of(HUGE_PAGE / PAGE);
            self.tails().insert(after, end);
            after = end;
        }
        for page in [first.checked_sub(1), Some(after).filter(|page| *page < self.pages.len())].into_iter().flatten() {
            self.protect(page..page + 1, libc::PROT_WRITE);
        }
    }

    /// Requests huge pages for a large range, once per huge page. This only affects speed.
    fn request_huge_pages(&self, touch: &Touch) {
        let first = (touch.address - self.window.start) / HUGE_PAGE;
        let last = (touch.address + touch.len - 1 - self.window.start).min(self.window.len - 1) / HUGE_PAGE;
        let mut huge = self.huge.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = MAX_HUGE_PAGES_PER_COPY.min(MAX_HUGE_PAGES.saturating_sub(huge.len()));
        for index in (first..=last).filter(|index| (index + 1) * HUGE_PAGE <= self.window.len) {
            if left == 0 {
                break;
            }
            if huge.insert(index) {
                left -= 1;
                let program = self.window.start + index * HUGE_PAGE;
                for start in [program.wrapping_add_signed(self.window.shift), program] {
                    // SAFETY: part of a mapping of the window; the call preserves the contents.
                    unsafe { libc::madvise(start as *mut _, HUGE_PAGE, COLLAPSE) };
                }
            }
        }
    }

    fn tails(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn users(&self) -> MutexGuard<'_, Vec<Range<usize>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unprotects a page, whatever its counts are.
    pub(super) fn unprotect(&self, page: usize) {
        self.protect(page..page + 1, libc::PROT_READ | libc::PROT_WRITE);
    }

    /// Protects a page again after an access, if it is still in flight.
    pub(super) fn reprotect(&self, page: usize) {
        let mut target = access(self.state(page));
        loop {
            self.protect(page..page + 1, target);
            // Another thread may have retired the copy concurrently.
            let now = access(self.state(page));
            if now == target {
                return;
            }
            target = now;
        }
    }

    /// Applies `change` to the use counts of a range and updates the protection of pages where it differs. Whole
    /// blocks are counted in the block; `single` is applied to the counts of their pages.
    fn update(&self, pages: Range<usize>, change: impl Fn(u64) -> u64, single: impl Fn(u64) -> u64) {
        let mut run = PageRun::default();
        self.change(pages, change, single, &mut run);
        run.apply();
    }

    /// Like `update`, but the protection is complete only when the run has been applied.
    fn change<'a>(
        &'a self,
        pages: Range<usize>,
        change: impl Fn(u64) -> u64,
        single: impl Fn(u64) -> u64,
        run: &mut PageRun<'a>,
    ) {
        let mut page = pages.start;
        while page < pages.end {
            let block = &self.blocks[page / BLOCK_PAGES];
            let shared = block.state.load(Ordering::Relaxed);
            let is_whole = page.is_multiple_of(BLOCK_PAGES) && page + BLOCK_PAGES <= pages.end;
            let changed = if is_whole { change(shared) } else { shared };
            block.state.store(changed, Ordering::Relaxed);
            if is_whole && block.single.load(Ordering::Relaxed) == 0 {
                run.add(self, page..page + BLOCK_PAGES, access(shared), access(changed));
                page += BLOCK_PAGES;
                continue;
            }
            let end = pages.end.min((page / BLOCK_PAGES + 1) * BLOCK_PAGES);
            while page < end {
                let before = self.pages[page].load(Ordering::Relaxed);
                let after = if is_whole { single(before) } else { change(before) };
                self.pages[page].store(after, Ordering::Relaxed);
                let singles = block.single.load(Ordering::Relaxed);
                block.single.store(singles + u32::from(after != 0) - u32::from(before != 0), Ordering::Relaxed);
                run.add(self, page..page + 1, access(before + shared), access(after + changed));
                page += 1;
            }
        }
    }

    fn protect(&self, pages: Range<usize>, access: i32) {
        // SAFETY: the pages belong to pinned memory, or to registered memory that was readable and writable when it
        // was registered and has not been released. Only the guard protects them. The engine uses another mapping or
        // opens the pages first, and faults of the program are handled by the guard.
        let code = unsafe { libc::mprotect(self.address(pages.start) as *mut _, pages.len() * PAGE, access) };
        if code != 0 {
            self.refused_pages.fetch_add(pages.len() as u64, Ordering::Relaxed);
        }
    }
}

/// Adjacent pages of an area that get the same protection, in one system call.
#[derive(Default)]
pub(super) struct PageRun<'a> {
    pages: Range<usize>,
    /// The area and the protection. `None` while the run is empty.
    target: Option<(&'a Area, i32)>,
}

impl<'a> PageRun<'a> {
    /// Adds pages whose protection changes. What cannot be joined with the pages before is applied first, so that the
    /// changes of a page keep their order.
    fn add(&mut self, area: &'a Area, pages: Range<usize>, before: i32, after: i32) {
        if before == after {
            return;
        }
        let joins = self.pages.end == pages.start
            && self.target.is_some_and(|(other, access)| std::ptr::eq(other, area) && access == after);
        if !joins {
            std::mem::take(self).apply();
            (self.pages.start, self.target) = (pages.start, Some((area, after)));
        }
        self.pages.end = pages.end;
    }

    /// Changes the protection of the pages.
    pub(super) fn apply(self) {
        let Some((area, access)) = self.target else { return };
        if access & libc::PROT_WRITE == 0 {
            // The program may have replaced the fault handler.
            segv::ensure_guarding();
        }
        let is_huge = self.pages.len() >= HUGE_PAGE / 2 / PAGE;
        let tail = if is_huge { area.tails().get(&self.pages.end).copied() } else { None };
        area.protect(self.pages.start..tail.unwrap_or(self.pages.end), access);
    }
}

/// Allocates a zeroed array that is never freed: the fault handler may use it at any time. Unused pages take no memory.
fn zeroed<T: Zeroable>(len: usize) -> &'static [T] {
    let layout = Layout::array::<T>(len).expect("an area is smaller than the address space");
    // SAFETY: the layout is not empty, because an area has at least one page.
    let start = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: the memory is fresh, aligned and never freed, and all-zero bytes are valid for `T: Zeroable`.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// Types for which all-zero bytes are a valid value.
trait Zeroable {}
impl Zeroable for AtomicU64 {}
impl Zeroable for Block {}

/// Protection of a page with these counts.
pub(super) fn access(state: u64) -> i32 {
    match (state / WRITER, state % WRITER) {
        _ if state & FLAGS != 0 => libc::PROT_READ | libc::PROT_WRITE,
        (0, 0) => libc::PROT_READ | libc::PROT_WRITE,
        (0, _) => libc::PROT_READ,
        _ => libc::PROT_NONE,
    }
}
