//! What stages need, as it is said beside their code.

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{Emit, Reducer, cluster_resource};

struct Distances;

#[cluster_resource("gpgpu")]
impl Mapper for Distances {
    type Input = TextLines;
    type Key = Text;
    type Value = u64;

    const EXPANSION: u32 = 3;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        out.emit(line, &1)
    }
}

struct Nearest;

#[cluster_resource("cpu")]
impl Combiner<u64> for Nearest {
    fn combine(&mut self, left: u64, right: u64) -> Result<u64> {
        Ok(left.min(right))
    }
}

#[cluster_resource("acc/kmeans-reduce")]
impl Reducer<Text, u64> for Nearest {
    type Key = Text;
    type Value = u64;

    fn reduce(
        &mut self,
        key: &[u8],
        values: &mut Values<'_, Text, u64>,
        out: &mut Output<'_, Text, u64>,
    ) -> Result<()> {
        let least = values.fold(u64::MAX, |least, value| Ok(least.min(value)))?;
        out.emit(key, &least)
    }
}

#[test]
fn an_attribute_says_it_in_the_plan_and_in_the_executable() {
    let job = || {
        let job = Job::new("near").map(|| Distances).combine(|| Nearest);
        format!("{:?}", job.reduce(|| Nearest))
    };
    let needs = "needs: [(\"map\", \"gpgpu\"), (\"combine\", \"cpu\"), (\"reduce\", \"acc/kmeans-reduce\")]";
    let planned = job();
    assert!(
        planned.contains(needs) && planned.contains("expansion: 3"),
        "{planned}"
    );
    // What the job itself says stands over its types.
    let job = Job::new("near").needs("map", "fpga").map(|| Distances);
    let planned = format!("{:?}", job.map_only());
    assert!(
        planned.contains("needs: [(\"map\", \"fpga\")]"),
        "{planned}"
    );
    let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let has = |line: &str| {
        file.windows(line.len())
            .any(|window| window == line.as_bytes())
    };
    // Put together here, so that this test is no evidence of itself.
    for (stage, of, need) in [
        ("map", "Distances", "gpgpu"),
        ("combine", "Nearest", "cpu"),
        ("reduce", "Nearest", "acc/kmeans-reduce"),
    ] {
        let line = format!("{{\"stage\":\"{stage}\",\"type\":\"{of}\",\"need\":\"{need}\"}}\n");
        assert!(has(&line), "{line}");
    }
}
