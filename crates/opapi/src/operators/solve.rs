//! Triangular systems.

use super::checks::{invalid, same_shape};
use crate::core::plan::{Plan, Planned};
use crate::core::view::View;

/// Which triangle is used, and how.
#[derive(Debug, Clone, Copy)]
pub struct Triangular {
    pub upper: bool,
    pub transpose: bool,
    pub unit: bool,
}

/// Solves `A X = B` for batches of matrices. `copy` receives the triangle of A.
pub fn triangular_solve(rule: Triangular, b: View, a: View, x: View, copy: View) -> Planned {
    same_shape(&b, &x)?;
    same_shape(&a, &copy)?;
    let (rank, n) = (a.rank(), a.dims.last().copied().unwrap_or(0));
    if rank < 2
        || b.rank() != rank
        || a.dims[rank - 2] != n
        || b.dims[rank - 2] != n
        || a.dims[..rank - 2] != b.dims[..rank - 2]
    {
        return invalid(format!("A has shape {:?}, and self has {:?}", a.dims, b.dims));
    }
    if b.kind.class() == crate::core::types::Class::Complex {
        return invalid("softacl solves systems of real numbers only".into());
    }
    let columns = b.dims[rank - 1];
    let batch: usize = a.dims[..rank - 2].iter().product();
    if b.count() == 0 {
        return Ok(Plan::nothing());
    }
    Plan::new().reads([&a, &b]).writes([&x, &copy]).run(move |memory| {
        let (from, right) = (memory.tensor(&a), memory.tensor(&b));
        let (to, triangle) = (memory.tensor(&x), memory.tensor(&copy));
        for at in 0..batch {
            let (mut matrix, mut result) = (vec![0_f64; n * n], vec![0_f64; n * columns]);
            from.read(at * n * n, &mut matrix);
            right.read(at * n * columns, &mut result);
            for row in 0..n {
                for column in 0..n {
                    if if rule.upper { column < row } else { column > row } {
                        matrix[row * n + column] = 0.0;
                    }
                }
            }
            triangle.write(at * n * n, &matrix);
            let cell = |row: usize, column: usize| {
                if rule.transpose { matrix[column * n + row] } else { matrix[row * n + column] }
            };
            // A transposed upper triangle is a lower one.
            let is_lower = rule.upper == rule.transpose;
            for step in 0..n {
                let row = if is_lower { step } else { n - 1 - step };
                let known = if is_lower { 0..row } else { row + 1..n };
                for column in 0..columns {
                    let sum: f64 = known.clone().map(|other| cell(row, other) * result[other * columns + column]).sum();
                    let value = result[row * columns + column] - sum;
                    result[row * columns + column] = if rule.unit { value } else { value / cell(row, row) };
                }
            }
            to.write(at * n * columns, &result);
        }
    })
}
