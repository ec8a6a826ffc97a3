//! Rotary embedding, and attention over dense or paged caches.

use super::checks::{Checked, invalid, same_shape, size, stretch};
use super::matmul::{Matrix, Sizes, multiply_parallel};
use super::rows::{map_rows, softmax_row};
use crate::core::memory::Memory;
use crate::core::parallel::divide;
use crate::core::plan::{Plan, Planned, Trouble};
use crate::core::view::View;

/// Rotates rows: halves against each other (mode 0), or neighbors (mode 1).
pub fn rotate(x: View, cos: View, sin: View, mode: i64, out: View) -> Planned {
    same_shape(&x, &out)?;
    let width = x.dims.last().copied().unwrap_or(0);
    if x.rank() == 0 || width % 2 != 0 || !(0..=1).contains(&mode) {
        return invalid(format!(
            "mode {mode} with rows of {width}; softacl has 0 (half) and 1 (interleave), with even rows"
        ));
    }
    let (cos, sin) = (stretch(&cos, &x.dims)?, stretch(&sin, &x.dims)?);
    map_rows::<f32>(vec![x, cos, sin], vec![out], move |read, written| {
        let (row, cos, sin) = (&read[0], &read[1], &read[2]);
        for (at, value) in written[0].iter_mut().enumerate() {
            let turned = match mode {
                0 if at < width / 2 => -row[at + width / 2],
                0 => row[at - width / 2],
                _ if at % 2 == 0 => -row[at + 1],
                _ => row[at - 1],
            };
            *value = row[at] * cos[at] + turned * sin[at];
        }
    })
}

/// Order of the dimensions of queries, keys and values: batch, sequence, heads, width of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Bsh,
    Bsnd,
    Bnsd,
}

/// Numbers of an attention.
#[derive(Debug, Clone)]
pub struct Attention {
    pub heads: i64,
    pub key_heads: i64,
    pub scale: f64,
    pub layout: String,
    pub sparse_mode: i64,
    /// Elements before and after the diagonal that count, if there is a mask.
    pub band: [i64; 2],
    pub block_size: i64,
}

/// Optional tensors and lengths of an attention.
#[derive(Debug, Clone)]
pub struct Extras {
    pub shift: Option<View>,
    pub mask: Option<View>,
    pub lengths: Option<Vec<i64>>,
    pub key_lengths: Option<Vec<i64>>,
    pub block_table: Option<View>,
}

/// Tensors of features that softacl does not have must be NULL.
pub fn absent(views: &[(&Option<View>, &str)]) -> Checked<()> {
    match views.iter().find(|(view, _)| view.is_some()) {
        Some((_, name)) => {
            invalid(format!("{name} is not NULL; softacl computes attention without quantization and prefixes"))
        }
        None => Ok(()),
    }
}

/// A tensor as (batch, heads, sequence, width).
fn heads_first(view: &View, layout: Layout, heads: usize) -> Checked<View> {
    let wrong =
        || invalid(format!("{} has shape {:?}, which does not have {heads} heads in {layout:?}", view.name, view.dims));
    match layout {
        Layout::Bsh if view.rank() == 3 && heads > 0 && view.dims[2].is_multiple_of(heads) => {
            Ok(view.split(2, heads, view.dims[2] / heads).permute(&[0, 2, 1, 3]))
        }
        Layout::Bsnd if view.rank() == 4 && view.dims[2] == heads => Ok(view.permute(&[0, 2, 1, 3])),
        Layout::Bnsd if view.rank() == 4 && view.dims[1] == heads => Ok(view.clone()),
        _ => wrong(),
    }
}

/// Keys or values: one tensor for all batches, one per batch, or blocks of a cache.
#[derive(Debug, Clone)]
enum Cache {
    Dense(Vec<View>),
    /// (blocks, heads, positions in a block, width)
    Paged(View),
}

impl Cache {
    /// The rows of one head, as f32.
    fn rows(
        &self,
        memory: &Memory,
        batch: usize,
        head: usize,
        length: usize,
        blocks: &[i64],
    ) -> Result<Vec<f32>, Trouble> {
        match self {
            Cache::Dense(views) => {
                let (view, batch) = if views.len() == 1 { (&views[0], batch) } else { (&views[batch], 0) };
                Ok(memory.tensor(&view.select(0, batch).select(0, head).slice(0, 0, 1, length)).to_vec())
            }
            Cache::Paged(view) => {
                let size = view.dims[2];
                let mut rows = Vec::with_capacity(length * view.dims[3]);
                for at in (0..length).step_by(size) {
                    let block = blocks.get(at / size).copied().unwrap_or(-1);
                    let Some(block) = usize::try_from(block).ok().filter(|block| *block < view.dims[0]) else {
                        return Err(format!(
                            "blockTable names block {block} for position {at}; there are {}",
                            view.dims[0]
                        ));
                    };
                    let part = view.select(0, block).select(0, head).slice(0, 0, 1, size.min(length - at));
                    rows.extend(memory.tensor(&part).to_vec::<f32>());
                }
                Ok(rows)
            }
        }
    }
}

/// `out = softmax(scale * Q K^T + shift, masked) V`, per batch and head. `lse` receives the logarithm of the sums.
pub fn attention(
    rule: Attention,
    query: View,
    key: Vec<View>,
    value: Vec<View>,
    extras: Extras,
    out: View,
    lse: Option<View>,
) -> Planned {
    let (layout, out_layout) = match rule.layout.as_str() {
        "BSH" | "" => (Layout::Bsh, Layout::Bsh),
        "BSND" => (Layout::Bsnd, Layout::Bsnd),
        "BNSD" => (Layout::Bnsd, Layout::Bnsd),
        "BNSD_BSND" => (Layout::Bnsd, Layout::Bsnd),
        other => return invalid(format!("inputLayout is {other:?}; softacl has BSH, BSND, BNSD and BNSD_BSND")),
    };
    let heads = size(rule.heads, "numHeads")?;
    let key_heads = if rule.key_heads == 0 { heads } else { size(rule.key_heads, "numKeyValueHeads")? };
    if heads == 0 || key_heads == 0 || heads % key_heads != 0 {
        return invalid(format!("numHeads is {heads}, which is no multiple of numKeyValueHeads {key_heads}"));
    }
    if !(0..=4).contains(&rule.sparse_mode) {
        return invalid(format!("sparseMode is {}; softacl has 0 to 4", rule.sparse_mode));
    }
    let query = heads_first(&query, layout, heads)?;
    let out = heads_first(&out, out_layout, heads)?;
    let (batch, rows, width) = (query.dims[0], query.dims[2], query.dims[3]);
    let is_paged = extras.block_table.is_some();
    let cache = |views: Vec<View>| -> Checked<Cache> {
        let Some(first) = views.first() else { return invalid("key or value is an empty list".into()) };
        if is_paged {
            let view = match first.rank() {
                3 => heads_first(first, Layout::Bsh, key_heads)?,
                _ => heads_first(first, Layout::Bnsd, key_heads)?,
            };
            return if view.dims[2] as i64 == rule.block_size && rule.block_size > 0 {
                Ok(Cache::Paged(view))
            } else {
                invalid(format!("{} has blocks of {}, and blockSize is {}", first.name, view.dims[2], rule.block_size))
            };
        }
        let views = views.iter().map(|view| heads_first(view, layout, key_heads)).collect::<Checked<Vec<View>>>()?;
        let fits = (views.len() == 1 && views[0].dims[0] == batch)
            || (views.len() == batch && views.iter().all(|view| view.dims[0] == 1));
        if fits { Ok(Cache::Dense(views)) } else { invalid(format!("key or value does not have {batch} batches")) }
    };
    let (keys, values) = (cache(key)?, cache(value)?);
    let (key_width, value_width) = match (&keys, &values) {
        (Cache::Dense(keys), Cache::Dense(values)) => (keys[0].dims[3], values[0].dims[3]),
        (Cache::Paged(keys), Cache::Paged(values)) => (keys.dims[3], values.dims[3]),
        _ => return invalid("key and value are stored in different ways".into()),
    };
    if key_width != width || out.dims[..] != [batch, heads, rows, value_width] {
        return invalid(format!("query, key and out have heads of {width}, {key_width} and {:?}", out.dims));
    }
    let length_of = |lengths: &Option<Vec<i64>>, at: usize, full: usize, name: &str| -> Checked<usize> {
        let given =
            lengths.as_ref().and_then(|lengths| if lengths.len() == 1 { lengths.first() } else { lengths.get(at) });
        match given {
            Some(length) if *length >= 0 && (*length as usize) <= full => Ok(*length as usize),
            Some(length) => invalid(format!("{name}[{at}] is {length}, and there are {full} rows")),
            None => Ok(full),
        }
    };
    let mut lengths = Vec::with_capacity(batch);
    for at in 0..batch {
        let own_full = match &keys {
            Cache::Dense(views) if views.len() > 1 => views[at].dims[2],
            Cache::Dense(views) => views[0].dims[2],
            Cache::Paged(view) => extras.block_table.as_ref().map_or(0, |table| table.dims[1] * view.dims[2]),
        };
        let own = length_of(&extras.key_lengths, at, own_full, "actualSeqLengthsKv")?;
        if is_paged && extras.key_lengths.is_none() {
            return invalid("actualSeqLengthsKv is required with blockTable".into());
        }
        lengths.push((length_of(&extras.lengths, at, rows, "actualSeqLengths")?, own));
    }
    let longest = lengths.iter().map(|(_, keys)| *keys).max().unwrap_or(0);
    let bias = extras.shift.as_ref().map(|view| bias_view(view, batch, heads, rows, longest)).transpose()?;
    // Compressed masks stand for the rule itself.
    let mask = match (&extras.mask, rule.sparse_mode) {
        (Some(view), 0 | 1) => Some(bias_view(&mask_4d(view, rows), batch, heads, rows, longest)?),
        _ => None,
    };
    if out.count() == 0 {
        return Ok(Plan::nothing());
    }
    let mut plan =
        Plan::new().reads([&query]).reads(&bias).reads(&mask).reads(&extras.block_table).writes([&out]).writes(&lse);
    plan = match (&keys, &values) {
        (Cache::Dense(keys), Cache::Dense(values)) => plan.reads(keys).reads(values),
        (Cache::Paged(keys), Cache::Paged(values)) => plan.selects([keys, values]),
        _ => plan,
    };
    let has_mask = extras.mask.is_some();
    let table = extras.block_table;
    plan.try_run(move |memory| {
        let failed = std::sync::Mutex::new(None);
        let cost = (rows * longest * width * 2).max(1);
        divide(batch * heads, ((1 << 21) / cost).max(1), 1, |part| {
            for index in part {
                let (at, head) = (index / heads, index % heads);
                let (query_rows, length) = lengths[at];
                let work = || -> Result<(), Trouble> {
                    let blocks: Vec<i64> = match &table {
                        Some(table) => memory_vec(memory, &table.select(0, at)),
                        None => Vec::new(),
                    };
                    let kv_head = head / (heads / key_heads);
                    let q: Vec<f32> = memory_vec(memory, &query.select(0, at).select(0, head));
                    let k = keys.rows(memory, at, kv_head, length, &blocks)?;
                    let v = values.rows(memory, at, kv_head, length, &blocks)?;
                    let mut scores = vec![0_f32; rows * length];
                    if length > 0 {
                        let sizes = Sizes { m: rows, k: width, n: length };
                        single(sizes, rule.scale, &q, [width as isize, 1], &k, [1, width as isize], &mut scores);
                    }
                    let line = |view: &Option<View>, row: usize| -> Option<Vec<f32>> {
                        let view = view.as_ref()?;
                        Some(memory_vec(
                            memory,
                            &view.select(0, at).select(0, head).select(0, row).slice(0, 0, 1, length),
                        ))
                    };
                    for row in 0..rows {
                        let scores = &mut scores[row * length..(row + 1) * length];
                        if let Some(bias) = line(&bias, row) {
                            scores.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
                        }
                        let mask = line(&mask, row);
                        for (column, score) in scores.iter_mut().enumerate() {
                            let masked = mask.as_ref().is_some_and(|mask| mask[column] != 0.0)
                                || is_outside(&rule, has_mask, row, column, query_rows, length);
                            if masked {
                                *score = f32::NEG_INFINITY;
                            }
                        }
                        let best = scores.iter().fold(f32::NEG_INFINITY, |best, score| best.max(*score));
                        let is_dead = best == f32::NEG_INFINITY || row >= query_rows;
                        let (max, sum) = if is_dead { (f32::INFINITY, 1.0) } else { softmax_row(scores, false) };
                        if is_dead {
                            scores.fill(0.0);
                        }
                        if let Some(lse) = &lse {
                            memory.tensor(lse).write((at * heads + head) * rows + row, &[f64::from(max) + sum.ln()]);
                        }
                    }
                    let mut result = vec![0_f32; rows * value_width];
                    if length > 0 {
                        let sizes = Sizes { m: rows, k: length, n: value_width };
                        single(sizes, 1.0, &scores, [length as isize, 1], &v, [value_width as isize, 1], &mut result);
                    }
                    memory.tensor(&out.select(0, at).select(0, head)).write(0, &result);
                    Ok(())
                };
                if let Err(trouble) = work() {
                    *failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(trouble);
                }
            }
        });
        failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
    })
}

fn memory_vec<V: crate::core::value::Value>(memory: &Memory, view: &View) -> Vec<V> {
    memory.tensor(view).to_vec()
}

/// A product of local matrices, on this thread if it is small.
fn single(sizes: Sizes, alpha: f64, a: &[f32], a_strides: [isize; 2], b: &[f32], b_strides: [isize; 2], c: &mut [f32]) {
    let (a, b) = (Matrix { start: a.as_ptr(), strides: a_strides }, Matrix { start: b.as_ptr(), strides: b_strides });
    let target = Matrix { start: c.as_mut_ptr().cast_const(), strides: [sizes.n as isize, 1] };
    multiply_parallel::<f32>(sizes, alpha, a, b, 0.0, target);
}

/// True if the rule of the sparse mode hides a position.
fn is_outside(rule: &Attention, has_mask: bool, row: usize, column: usize, rows: usize, length: usize) -> bool {
    let (row, column) = (row as i64, column as i64);
    let shift = length as i64 - rows as i64;
    match rule.sparse_mode {
        2 => column > row,
        3 => column > row + shift,
        4 => column > (row + shift).saturating_add(rule.band[1]) || column < (row + shift).saturating_sub(rule.band[0]),
        0 if has_mask && rows > 1 => {
            column > row.saturating_add(rule.band[1]) || column < row.saturating_sub(rule.band[0])
        }
        _ => false,
    }
}

/// A mask with any of the documented ranks, as (batch, 1, rows, columns).
fn mask_4d(view: &View, rows: usize) -> View {
    match view.rank() {
        2 if rows == 1 && view.dims[0] != 1 => view.unsqueeze(1).unsqueeze(1),
        2 => view.unsqueeze(0).unsqueeze(0),
        3 => view.unsqueeze(1),
        _ => view.clone(),
    }
}

/// A bias or mask stretched over batches and heads. It may have more columns than there are keys.
fn bias_view(view: &View, batch: usize, heads: usize, rows: usize, columns: usize) -> Checked<View> {
    if view.rank() != 4 || view.dims[2] < rows || view.dims[3] < columns {
        return invalid(format!(
            "{} has shape {:?}; {rows} rows and {columns} columns are needed",
            view.name, view.dims
        ));
    }
    let columns = view.dims[3];
    stretch(&view.slice(2, 0, 1, rows), &[batch, heads, rows, columns])
}
