//! The jobs that have kernels, as versions for processors: what their kernels are compared with.

use std::fmt::Write as _;

use crate::program::{Bed, program};

#[cfg(test)]
fn run(name: &str, options: &[&str], operands: &[&str]) {
    let (code, said) = program(name, &[&["--local"], options].concat(), operands, &[]);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_product_is_the_same_whatever_maps_and_reduces_there_are() {
    let bed = Bed::new();
    let whole = ["-D", "mapreduce.job.maps=1"];
    run("matrix", &whole, &["37", &bed.at("whole")]);
    let cut = ["-D", "mapreduce.job.maps=5", "--reduces", "3"];
    run("matrix", &cut, &["37", &bed.at("cut")]);
    let product = bed.parts("whole");
    assert_eq!(product.len(), 37 * 37 * 4);
    assert_eq!(bed.parts("cut"), product);
    // A mean of 37 products of numbers from 0 to 1.
    let numbers: Vec<f32> = product
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert!(numbers.iter().all(|number| (2.0..20.0).contains(number)));
    let mean = numbers.iter().sum::<f32>() / 1369.0;
    assert!((8.5..10.0).contains(&mean), "{mean}");
    run("matrix", &["--seed", "2"], &["37", &bed.at("other")]);
    assert_ne!(bed.parts("other"), product);
}

#[test]
fn servers_are_told_by_how_and_how_soon_they_answer() {
    let bed = Bed::new();
    let mut log = String::from("no question\n");
    // 1 to 20 ms, and every fifth is not answered.
    for number in 1..=20 {
        let time = match number % 5 {
            0 => "-".to_owned(),
            _ => (number * 1_000).to_string(),
        };
        writeln!(log, "17.{number:06} k.root-servers.net a.example A {time}").unwrap();
    }
    log.push_str("18.000001 a.root-servers.net a.example NS -\n");
    log.push_str("18.000002 m.root-servers.net a.example NS 1500000\n");
    bed.write("in/log", &log);
    run("dnslog", &[], &[&bed.at("in"), &bed.at("out")]);
    let wanted = "\
        a.root-servers.net\t1 asked, none answered, score 0.0\n\
        k.root-servers.net\t20 asked, 16 answered (80.0 %), median 9.0 ms, 95 % within 19.0 ms, score 67.7\n\
        m.root-servers.net\t1 asked, 1 answered (100.0 %), median more than 1000 ms, 95 % within more than 1000 ms, \
        score 4.7\n";
    assert_eq!(bed.read("out/part-r-00000"), wanted);
}

#[test]
fn logs_are_the_same_each_time() {
    let bed = Bed::new();
    let make = |seed: &str, out: &str| {
        let options = ["--job", "generate", "--records", "300", "--seed", seed];
        run("dnslog", &options, &["2", &bed.at(out)]);
        bed.parts(out)
    };
    let (first, again, other) = (make("1", "first"), make("1", "again"), make("2", "other"));
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_eq!(first.split(|byte| *byte == b'\n').count(), 601);
    run("dnslog", &[], &[&bed.at("first"), &bed.at("scores")]);
    let scores = bed.read("scores/part-r-00000");
    assert_eq!(scores.lines().count(), 13, "{scores}");
}
