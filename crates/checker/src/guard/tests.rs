//! Compares the guard with a simple model, page by page, and with the protection that the kernel reports.

use super::area::BLOCK_PAGES;
use super::*;
use softacl_engine::observer::Mode;

const PAGES: usize = 5 * BLOCK_PAGES + 7;

/// Protection of each page of a range, as the kernel reports it.
fn protection(start: usize) -> Vec<i32> {
    let mut protection = vec![-1; PAGES];
    for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|address| usize::from_str_radix(address, 16).unwrap());
        let flags = [('r', libc::PROT_READ), ('w', libc::PROT_WRITE)];
        let flags = flags.iter().filter(|(letter, _)| rest[..4].contains(*letter)).map(|(_, flag)| flag).sum();
        for (page, protection) in protection.iter_mut().enumerate() {
            if (from..to).contains(&(start + page * PAGE)) {
                *protection = flags;
            }
        }
    }
    protection
}

/// Adds and removes random copies and frees memory. The counts and subranges must equal those of a model that counts
/// every page separately and looks at all copies.
#[test]
fn counts_subranges_and_protection_match_the_copies_in_flight() {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping that only this test uses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGES * PAGE, access, flags, -1, 0) } as usize;
    let guard = Guard::new(Window { start, len: PAGES * PAGE, shift: 0 });
    let mut model = vec![(0_u64, 0_u64); PAGES];
    let mut is_exempt = vec![false; PAGES];
    let mut copies: Vec<Touch> = Vec::new();
    let mut rng = fastrand::Rng::with_seed(7);
    for step in 0..3000 {
        let first = rng.usize(..PAGES);
        let last = if rng.bool() { rng.usize(first..PAGES) } else { (first + rng.usize(..3)).min(PAGES - 1) };
        let range = start + first * PAGE..start + (last + 1) * PAGE;
        match rng.u32(..20) {
            0 => {
                // Copies do not cross the ends of an allocation.
                let inside = |touch: &Touch| range.contains(&touch.address) && touch.address + touch.len <= range.end;
                let outside = |touch: &Touch| touch.address + touch.len <= range.start || touch.address >= range.end;
                if copies.iter().all(|touch| inside(touch) || outside(touch)) {
                    guard.clear(range.start, range.len());
                    copies.retain(outside);
                    model[first..=last].fill((0, 0));
                    is_exempt[first..=last].fill(false);
                }
            }
            1 if rng.u32(..10) == 0 => {
                guard.exempt(range.start + rng.usize(..PAGE), 1);
                is_exempt[first] = true;
            }
            1..=9 if !copies.is_empty() => {
                let touch = copies.swap_remove(rng.usize(..copies.len()));
                guard.remove([&touch]);
                for (reads, writes) in &mut model[guard.pinned.span(touch.address, touch.len)] {
                    *(if touch.mode == Mode::Read { reads } else { writes }) -= 1;
                }
            }
            _ => {
                let mode = if rng.bool() { Mode::Read } else { Mode::Write };
                // Most copies start or end inside a page.
                let (from, to) = (rng.usize(..PAGE), rng.usize(..PAGE));
                let inset = [(0, 0), (from, 0), (0, to), (from.min(to), PAGE - from.max(to))][rng.usize(..4)];
                let address = range.start + inset.0;
                let touch = Touch { address, len: (range.len() - inset.0 - inset.1).max(1), mode };
                guard.add(&touch);
                copies.push(touch);
                for (reads, writes) in &mut model[first..=last] {
                    *(if mode == Mode::Read { reads } else { writes }) += 1;
                }
            }
        }
        let counted: Vec<(u64, u64)> = (0..PAGES)
            .map(|page| (guard.pinned.in_flight(page) % WRITER, guard.pinned.in_flight(page) / WRITER))
            .collect();
        assert_eq!(counted, model, "after step {step}");
        for page in (0..PAGES).filter(|page| guard.pinned.in_flight(*page) != 0).map(|page| start + page * PAGE) {
            let subranges = copies.iter().map(|touch| covered(touch, page)).filter(|(from, to)| from < to);
            let subranges: Vec<(usize, usize)> = subranges.collect();
            let random = rng.usize(page..page + PAGE);
            let edges = subranges.iter().flat_map(|(from, to)| [from.max(&(page + 1)) - 1, *from, to - 1, *to]);
            for start in edges.chain([random]).filter(|start| *start < page + PAGE) {
                let end = rng.usize(start + 1..=page + PAGE);
                let overlapping = subranges.iter().filter(|(from, to)| *from < end && start < *to);
                let first = overlapping.map(|(from, _)| start.max(*from)).min();
                assert_eq!(
                    guard.first_in_flight(&guard.pinned, start, end),
                    first,
                    "{start:#x} to {end:#x} after step {step}"
                );
            }
        }
        if step % 100 == 0 {
            let expected =
                |page: usize| if is_exempt[page] { access } else { area::access(guard.pinned.in_flight(page)) };
            let expected: Vec<i32> = (0..PAGES).map(expected).collect();
            assert_eq!(protection(start), expected, "after step {step}");
        }
    }
    // SAFETY: the mapping from above, which is no longer used.
    unsafe { libc::munmap(start as *mut _, PAGES * PAGE) };
}
