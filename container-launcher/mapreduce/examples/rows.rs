//! Parquet in and out: what is spent at each site, and how often, as rows.
//!
//! Of however many columns two are read.

use gerbil_mapreduce::prelude::*;
use serde::{Deserialize, Serialize};

/// The columns that are read of sales.
#[derive(Deserialize)]
struct Sale {
    site: String,
    cents: Option<i64>,
}

/// What is written of them.
#[derive(Deserialize, Serialize)]
struct Bought {
    site: String,
    sales: u64,
    cents: i64,
    largest: Option<i64>,
}

struct Sales;

impl Mapper for Sales {
    type Input = Parquet<Sale>;
    type Key = Text;
    type Value = Option<i64>;

    fn map(&mut self, _row: u64, sale: Sale, out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(&sale.site, &sale.cents)
    }
}

fn main() -> ExitCode {
    Job::new("bought")
        .map(|| Sales)
        .reduce_with::<(), Json<Bought>, _>(|site, values, out| {
            let site = String::from_utf8(site.to_vec())?;
            let (mut sales, mut sum, mut largest) = (0, 0, None);
            while let Some(cents) = values.next()? {
                sales += 1;
                sum += cents.unwrap_or(0);
                largest = largest.max(cents);
            }
            let bought = Bought {
                site,
                sales,
                cents: sum,
                largest,
            };
            out.emit(&(), &Json(bought))
        })
        .output::<ParquetOutput>()
        .main()
}
