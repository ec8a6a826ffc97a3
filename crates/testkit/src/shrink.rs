//! Shrinks a failing program: removes operations as long as it still fails.

use crate::program::Program;

/// Returns the smallest program found that still fails. `fails` runs a candidate.
pub fn shrink(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut chunk = best.operations.len() / 2;
    while chunk > 0 {
        let mut start = 0;
        while start < best.operations.len() {
            let mut candidate = best.clone();
            let end = (start + chunk).min(candidate.operations.len());
            candidate.operations.drain(start..end);
            if fails(&candidate) {
                best = candidate;
            } else {
                start += chunk;
            }
        }
        chunk /= 2;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ApiCall;

    #[test]
    fn shrinking_removes_irrelevant_operations() {
        let program = Program::random(1, 200);
        let matters = |program: &Program| program.operations.contains(&ApiCall::SynchronizeDevice);
        assert!(matters(&program), "the seed generates one");
        let small = shrink(&program, matters);
        assert_eq!(small.operations, [ApiCall::SynchronizeDevice]);
    }
}
