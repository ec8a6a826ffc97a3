//! The guard against a plain model, page by page, and against what the system says.

use super::*;

const PAGES: usize = 5 * BLOCK + 7;

/// The rights of each page of a range, as the system knows them.
fn rights(start: usize) -> Vec<i32> {
    let mut rights = vec![-1; PAGES];
    for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|address| usize::from_str_radix(address, 16).unwrap());
        let given = [('r', libc::PROT_READ), ('w', libc::PROT_WRITE)];
        let given = given.iter().filter(|(letter, _)| rest[..4].contains(*letter)).map(|(_, right)| right).sum();
        for (page, right) in rights.iter_mut().enumerate() {
            if (from..to).contains(&(start + page * PAGE)) {
                *right = given;
            }
        }
    }
    rights
}

/// Copies come, go, and lose their memory; counting pages one by one, and looking at all copies for each of them,
/// must come to the same.
#[test]
fn pages_and_their_bytes_are_those_of_the_copies_in_flight() {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping that only this test uses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), PAGES * PAGE, access, flags, -1, 0) } as usize;
    let guard = Guard::new(Window { start, len: PAGES * PAGE, shift: 0 });
    let mut model = vec![(0_u64, 0_u64); PAGES];
    let mut stays_open = vec![false; PAGES];
    let mut flights: Vec<Touch> = Vec::new();
    let mut rng = fastrand::Rng::with_seed(7);
    for step in 0..3000 {
        let first = rng.usize(..PAGES);
        let last = if rng.bool() { rng.usize(first..PAGES) } else { (first + rng.usize(..3)).min(PAGES - 1) };
        let range = start + first * PAGE..start + (last + 1) * PAGE;
        match rng.u32(..20) {
            0 => {
                // Nothing in flight reaches across the ends of an allocation.
                let inside = |touch: &Touch| range.contains(&touch.address) && touch.address + touch.len <= range.end;
                let outside = |touch: &Touch| touch.address + touch.len <= range.start || touch.address >= range.end;
                if flights.iter().all(|touch| inside(touch) || outside(touch)) {
                    guard.clear(range.start, range.len());
                    flights.retain(outside);
                    model[first..=last].fill((0, 0));
                    stays_open[first..=last].fill(false);
                }
            }
            1 if rng.u32(..10) == 0 => {
                guard.exempt(range.start + rng.usize(..PAGE), 1);
                stays_open[first] = true;
            }
            1..=9 if !flights.is_empty() => {
                let touch = flights.swap_remove(rng.usize(..flights.len()));
                guard.remove(&touch);
                for (reads, writes) in &mut model[guard.span(touch.address, touch.len)] {
                    *(if touch.mode == Mode::Read { reads } else { writes }) -= 1;
                }
            }
            _ => {
                let mode = if rng.bool() { Mode::Read } else { Mode::Write };
                // Most begin or end inside a page.
                let (from, to) = (rng.usize(..PAGE), rng.usize(..PAGE));
                let inset = [(0, 0), (from, 0), (0, to), (from.min(to), PAGE - from.max(to))][rng.usize(..4)];
                let address = range.start + inset.0;
                let touch = Touch { address, len: (range.len() - inset.0 - inset.1).max(1), mode };
                guard.add(&touch);
                flights.push(touch);
                for (reads, writes) in &mut model[first..=last] {
                    *(if mode == Mode::Read { reads } else { writes }) += 1;
                }
            }
        }
        let counted: Vec<(u64, u64)> =
            (0..PAGES).map(|page| (guard.in_flight(page) % WRITER, guard.in_flight(page) / WRITER)).collect();
        assert_eq!(counted, model, "after step {step}");
        for page in (0..PAGES).filter(|page| guard.in_flight(*page) != 0).map(|page| start + page * PAGE) {
            let parts = flights.iter().map(|touch| part(touch, page)).filter(|(from, to)| from < to);
            let parts: Vec<(usize, usize)> = parts.collect();
            let random = rng.usize(page..page + PAGE);
            let edges = parts.iter().flat_map(|(from, to)| [from.max(&(page + 1)) - 1, *from, to - 1, *to]);
            for start in edges.chain([random]).filter(|start| *start < page + PAGE) {
                let end = rng.usize(start + 1..=page + PAGE);
                let meeting = parts.iter().filter(|(from, to)| *from < end && start < *to);
                let first = meeting.map(|(from, _)| start.max(*from)).min();
                assert_eq!(guard.first_in_flight(start, end), first, "{start:#x} to {end:#x} after step {step}");
            }
        }
        if step % 100 == 0 {
            let right = |page: usize| if stays_open[page] { access } else { super::access(guard.in_flight(page)) };
            let wanted: Vec<i32> = (0..PAGES).map(right).collect();
            assert_eq!(rights(start), wanted, "after step {step}");
        }
    }
    // SAFETY: the mapping from above, which nobody uses any more.
    unsafe { libc::munmap(start as *mut _, PAGES * PAGE) };
}
