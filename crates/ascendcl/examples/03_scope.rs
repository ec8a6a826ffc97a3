//! Copies that borrow pinned memory instead of owning it. They have finished when the scope ends, even by a panic.

use ascendcl::{Device, Result};

const ROW: usize = 256;

fn main() -> Result<()> {
    let context = Device::new(0)?.new_context()?;
    let stream = context.new_stream()?;

    let mut table = context.alloc_pinned::<u32>(4 * ROW)?;
    for (index, element) in table.iter_mut().enumerate() {
        *element = index as u32;
    }
    // Uploads the rows in reverse order.
    let mut device = context.alloc_uninit::<u32>(4 * ROW)?;
    stream.scope(|scope| {
        for row in 0..4 {
            let target = 3 - row;
            scope
                .upload(table.slice(row * ROW..(row + 1) * ROW), device.slice_mut(target * ROW..(target + 1) * ROW))?;
        }
        Ok(())
    })?;

    // The table can be written again.
    table.fill(0);
    let first = device.slice(..ROW).to_vec()?;
    assert_eq!(first[0], 3 * ROW as u32);
    println!("the first row on the device is the last row of the table");
    Ok(())
}
