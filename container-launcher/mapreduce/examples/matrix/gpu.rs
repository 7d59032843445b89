//! The product on a GPU, when it is this task's turn.

use gerbil_mapreduce::gpu::{Argument, Grid};
use gerbil_mapreduce::{Context, Devices, Result};

const SOURCE: &str = include_str!("multiply.k");

/// Rows of `left` times `right`, which has `columns` rows and columns.
#[expect(unsafe_code, reason = "a kernel is C")]
pub(crate) fn of(
    left: &[f32],
    right: &[f32],
    columns: usize,
    context: &Context,
) -> Result<Vec<f32>> {
    let turn = Devices::wanted()?.turn(|| context.progress())?;
    let device = turn.open(context.settings())?;
    let program = device.compile(SOURCE)?;
    let (on_left, on_right) = (device.upload(left)?, device.upload(right)?);
    let product = device.zeros::<f32>(left.len())?;
    let arguments = [
        on_left.argument(),
        on_right.argument(),
        product.argument(),
        Argument::U32(u32::try_from(left.len() / columns)?),
        Argument::U32(u32::try_from(columns)?),
    ];
    let grid = Grid::of(u64::try_from(left.len())?)?;
    // SAFETY: `left` and `product` have as many rows as it is told, `right` as many as columns; no thread is outside.
    unsafe { device.launch(&program, "multiply", grid, &arguments)? };
    context.progress();
    Ok(device.download(&product)?)
}
