//! What reducers do before and after their records, and outputs that they name.

use gerbil_mapreduce::Reducer;
use gerbil_mapreduce::prelude::*;

use super::keys::{MONTHS, Month, Months};
use crate::program::{Bed, command};

/// Sums, each to the output that its parity names; what `setup` and `cleanup` see, too.
#[cfg(test)]
#[derive(Default)]
struct Sorting {
    least: u64,
    left_out: u64,
}

#[cfg(test)]
impl Reducer<Month, u64> for Sorting {
    type Key = Month;
    type Value = u64;

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.least = context.option("least")?;
        if self.least > 100 {
            return Err(Error::new("that is much"));
        }
        Ok(())
    }

    fn reduce(
        &mut self,
        key: Month,
        values: &mut Values<'_, Month, u64>,
        out: &mut Output<'_, Month, u64>,
    ) -> Result<()> {
        let sum = values.fold(0, |sum, value| Ok(sum + value))?;
        if sum < self.least {
            self.left_out += 1;
            return Ok(());
        }
        let name = if sum % 2 == 0 { "even" } else { "odd" };
        out.emit_to(name, &key, &sum)
    }

    fn cleanup(&mut self, out: &mut Output<'_, Month, u64>) -> Result<()> {
        out.count("months", "left out", self.left_out);
        let last = Month { year: 0, month: 1 };
        out.emit(&last, &self.left_out)
    }
}

#[cfg(test)]
fn sorting() -> gerbil_mapreduce::Test {
    let job = Job::new("sorting").option::<u64>("least", Some("0"), "least sum");
    job.map(|| Months)
        .reduce(Sorting::default)
        .test()
        .input(MONTHS)
}

#[test]
fn a_reducer_has_a_beginning_and_an_end_and_named_outputs() {
    let done = sorting().option("least", "3").run().unwrap();
    let files: Vec<(&str, &str)> = done
        .files()
        .iter()
        .map(|(name, content)| (name.as_str(), std::str::from_utf8(content).unwrap()))
        .collect();
    assert_eq!(
        files,
        [
            ("even-r-00000", "2026-02\t4\n2027-01\t16\n"),
            ("odd-r-00000", "2026-11\t9\n"),
            ("part-r-00000", "0-01\t1\n"),
        ]
    );
    assert_eq!(done.counter("months", "left out"), 1);
    let tasks = "org.apache.hadoop.mapreduce.TaskCounter";
    assert_eq!(done.counter(tasks, "REDUCE_OUTPUT_RECORDS"), 4);
    let error = sorting()
        .option("least", "101")
        .run()
        .unwrap_err()
        .to_string();
    assert_eq!(error, "setup: that is much");
}

#[test]
fn a_named_output_has_a_name_of_letters_and_a_map_before_reduces_has_none() {
    for name in ["", "part", "a/b", "a-b", "_x"] {
        let job = Job::new("named").map_lines::<Text, u64, _>(|line, out| {
            let name = String::from_utf8_lossy(line).into_owned();
            out.emit_to(&name, "key", &1)
        });
        // A line that is empty is handed over, too.
        let error = job
            .map_only()
            .test()
            .input(format!("{name}\n"))
            .reduces(0)
            .run()
            .unwrap_err()
            .to_string();
        let words = format!("{name:?} is no name of an output: letters and digits, and not part");
        assert!(error.ends_with(&words), "{error}");
    }
    let job = Job::new("named").map_lines::<Text, u64, _>(|_, out| out.emit_to("side", "key", &1));
    let error = job
        .reduce(|| Sum)
        .test()
        .input("x\n")
        .run()
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("named outputs are written by reduces, or by maps of a job without any"),
        "{error}"
    );
}

/// Files are the user's who runs the job: others may read what his umask lets them.
#[test]
fn outputs_have_the_rights_that_the_umask_leaves() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::new();
    bed.write("in", "a\n");
    for (mask, file, folder) in [
        ("022", 0o644, 0o755),
        ("077", 0o600, 0o700),
        ("002", 0o664, 0o775),
    ] {
        let out = format!("out-{mask}");
        let job = command(
            "wordcount",
            &["--local", "--quiet"],
            &[&bed.at("in"), &bed.at(&out)],
            &[],
        );
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("umask {mask}; exec \"$@\""), "sh"]);
        assert!(
            shell
                .arg(job.get_program())
                .args(job.get_args())
                .status()
                .unwrap()
                .success()
        );
        let mode = |name: &str| {
            std::fs::metadata(bed.path(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode(&format!("{out}/part-r-00000")), file, "{mask}");
        assert_eq!(mode(&format!("{out}/_SUCCESS")), file, "{mask}");
        assert_eq!(mode(&out), folder, "{mask}");
    }
}

/// A line's number modulo 7 is its key, and the line the value.
#[cfg(test)]
fn sevens() -> gerbil_mapreduce::Mapped<impl Mapper<Key = (u32, u32), Value = u64>> {
    Job::new("sevens").map_lines::<(u32, u32), u64, _>(|line, out| {
        let number: u32 = std::str::from_utf8(line)?.parse()?;
        out.emit(&(number % 7, number % 2), &u64::from(number))
    })
}

/// In splits, with combiners of groups, and in groups of a part of the key, which go out under their first whole one.
#[test]
fn the_librarys_reducers_are_right_in_splits_and_groups() {
    let lines: String = (0..700).map(|number| format!("{number}\n")).collect();
    let run =
        |job: gerbil_mapreduce::Test| job.input(&lines).split_every(300).run().unwrap().text();
    let whole = |value: fn(u32, u32) -> Vec<u32>| -> String {
        let keys = (0..7).flat_map(|seven| (0..2).map(move |two| (seven, two)));
        keys.flat_map(|(seven, two)| {
            value(seven, two)
                .into_iter()
                .map(move |value| format!("{seven}\t{two}\t{value}\n"))
        })
        .collect()
    };
    let first = |value: fn(u32) -> Vec<u32>| -> String {
        (0..7)
            .flat_map(|seven| {
                value(seven)
                    .into_iter()
                    .map(move |value| format!("{seven}\t0\t{value}\n"))
            })
            .collect()
    };
    assert_eq!(
        run(sevens().reduce(|| Count).test()),
        whole(|_, _| vec![50])
    );
    assert_eq!(
        run(sevens().group_by_first().reduce(|| Count).test()),
        first(|_| vec![100])
    );
    // The greatest number below 700 of this remainder by 14, and the one before.
    let top = |seven: u32, two: u32| {
        let greatest = (686..700)
            .find(|number| (number % 7, number % 2) == (seven, two))
            .unwrap();
        vec![greatest, greatest - 14]
    };
    for order in [Order::Sorted, Order::Grouped] {
        let job = sevens()
            .order(order)
            .combine_groups(|| Top::<2>)
            .reduce(|| Top::<2>);
        let text = run(job.test());
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.sort_by_key(|line| line.rsplit_once('\t').unwrap().0.to_owned());
        assert_eq!(lines.concat(), whole(top), "{order:?}");
    }
    assert_eq!(
        run(sevens().group_by_first().reduce(|| Top::<3>).test()),
        first(|seven| vec![693 + seven, 686 + seven, 679 + seven])
    );
    let least = |seven: u32, two: u32| {
        (0..14)
            .filter(|number| (number % 7, number % 2) == (seven, two))
            .collect()
    };
    let job = sevens().combine_groups(|| Distinct).reduce(|| Distinct);
    assert_eq!(run(job.test()), whole(least));
    assert_eq!(run(sevens().reduce(|| Top::<0>).test()), "");
}
