//! The product on the task's own core.

use gerbil_mapreduce::{Context, Result};

/// Rows of `left` times `right`, which has `columns` rows and columns.
pub(crate) fn of(
    left: &[f32],
    right: &[f32],
    columns: usize,
    context: &Context,
) -> Result<Vec<f32>> {
    let mut product = vec![0.0; left.len()];
    for (row, sums) in left.chunks(columns).zip(product.chunks_mut(columns)) {
        context.progress();
        for (factor, numbers) in row.iter().zip(right.chunks(columns)) {
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += factor * number;
            }
        }
    }
    Ok(product)
}
