//! Orders in which the demo and the benchmark visit pieces of memory.

/// Returns a fixed permutation of the numbers below `count` in which neighbors are far apart.
pub fn scattered(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for index in (1..count).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(index, (state >> 33) as usize % (index + 1));
    }
    order
}
