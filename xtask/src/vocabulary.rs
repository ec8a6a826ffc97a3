//! placeholder
use anyhow::Result;
pub fn run(_: Option<&str>) -> Result<()> {
    Ok(())
}
