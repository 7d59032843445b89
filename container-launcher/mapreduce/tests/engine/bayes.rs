//! Naive Bayes beside a driver of modelled boards, and without one: what packets name is loaded once, and again where a
//! board has forgotten it.

use fpga_driver::bayes::{BayesTable, Document};

use crate::accelerated::RunningDriver;
use crate::program::{Bed, program};

const CLASSES: usize = 8;
const TERMS: usize = 1000;
/// As options.
const KINDS: [&str; 4] = ["--classes", "8", "--terms", "1000"];
/// Blocks that the table just fits, so that there are many packets.
const BOARD: &str = "functions = { bayes-map = 3 }\nblock_kib = 32";

/// So many documents in each of two files.
fn documents(bed: &Bed, lines: &str) {
    let options = [
        &["--local", "--job", "generate", "--lines", lines],
        &KINDS[..],
    ]
    .concat();
    let (code, said) = program("bayes", &options, &["2", &bed.at("in")], &[]);
    assert_eq!(code, 0, "{said}");
}

/// Runs the job with the driver that listens there, if one does; what it said.
fn run(bed: &Bed, options: &[&str], out: &str) -> (i32, String) {
    let socket = bed.at("fpgad.sock");
    let here = [("GERBIL_FPGAD", socket.as_str())];
    let options = [&["--local"], &KINDS[..], options].concat();
    program("bayes", &options, &[&bed.at("in"), &bed.at(out)], &here)
}

fn classes(bed: &Bed, out: &str) -> Vec<u8> {
    bed.parts(&format!("{out}/classes"))
}

/// What a counter says at the job's end.
fn counted(said: &str, counter: &str) -> u64 {
    let value = said.split(&format!("{counter}=")).nth(1);
    let digits = value.map(|value| value.split(|c: char| !c.is_ascii_digit()).next());
    digits.flatten().map_or(0, |digits| digits.parse().unwrap())
}

/// The same, from the text alone.
fn reference(bed: &Bed) -> Vec<u8> {
    let text = String::from_utf8(bed.parts("in")).unwrap();
    let mut numbers = Vec::new();
    let mut documents = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        numbers.push(fields[0]);
        documents.push(Document {
            key: fields[1].parse().unwrap(),
            terms: fields[2].split(' ').map(|it| it.parse().unwrap()).collect(),
        });
    }
    let table = BayesTable::train(&documents, CLASSES, TERMS);
    let lines = numbers.iter().zip(&documents).map(|(number, document)| {
        format!("{number}\t{}\n", table.classify(&document.terms).unwrap())
    });
    lines.collect::<String>().into_bytes()
}

#[test]
fn documents_are_sorted_alike_with_boards_and_without() {
    let bed = Bed::new();
    documents(&bed, "1500");
    let (code, said) = run(&bed, &[], "none");
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        said.matches("no acc/bayes-map: no fpgad").count(),
        1,
        "{said}"
    );
    assert_eq!(counted(&said, "MODELS_LOADED"), 0, "{said}");
    let (right, wrong) = (counted(&said, "RIGHT"), counted(&said, "WRONG"));
    assert!(right + wrong == 3000 && right > 2700, "{said}");
    let wanted = reference(&bed);
    assert!(classes(&bed, "none") == wanted, "{said}");

    let driver = RunningDriver::start(&bed, BOARD);
    let cut = "mapreduce.input.fileinputformat.split.maxsize=150000";
    let two = ["-D", "needs.map=acc/bayes-map=2"];
    for (out, options, loads) in [
        ("board", &["--slots", "2"][..], 1),
        ("serial", &["-D", "acc.modules=serial"], 1),
        ("two", &[&two[..], &["--slots", "1"]].concat(), 2),
        ("cut", &["-D", cut, "--slots", "3"], 6),
        ("cpu", &["-D", "needs.map=cpu"], 0),
    ] {
        let before = driver.packets();
        let (code, said) = run(&bed, options, out);
        assert_eq!(code, 0, "{out}: {said}");
        let packets = driver.packets() - before;
        assert_eq!(packets > 20, loads > 0, "{out}: {packets} {said}");
        let loaded = ["MODELS_LOADED", "MODELS_RELOADED"].map(|it| counted(&said, it));
        assert_eq!(loaded, [loads, 0], "{out}: {said}");
        assert!(classes(&bed, out) == wanted, "{out}: {said}");
    }
}

#[test]
fn a_board_that_forgets_is_loaded_again() {
    let bed = Bed::new();
    documents(&bed, "1500");
    let wanted = reference(&bed);
    for (out, modules) in [("overlap", "overlap"), ("serial", "serial")] {
        let forgets = format!("{BOARD}\nfaults = [\"reset@5+12\"]\npatience_ms = 400");
        let driver = RunningDriver::start(&bed, &forgets);
        let modules = format!("acc.modules={modules}");
        let (code, said) = run(&bed, &["-D", &modules, "--slots", "1"], out);
        assert_eq!(code, 0, "{said}");
        let [loaded, again] = ["MODELS_LOADED", "MODELS_RELOADED"].map(|it| counted(&said, it));
        assert!(again > 0 && loaded == again + 1, "{out}: {said}");
        assert!(classes(&bed, out) == wanted, "{out}: {said}");
        assert!(driver.packets() > 20);
    }
}

#[test]
fn what_is_no_document_is_named_and_may_be_left_out_with_a_board_and_without() {
    let bed = Bed::new();
    documents(&bed, "600");
    let text = String::from_utf8(bed.parts("in")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[40] = "7\t1";
    lines[90] = "x\t1\t4 5";
    lines[300] = "9\t8\t4 5";
    lines[500] = "9\t-\t4 1000";
    bed.write("in/part-m-00000", lines.join("\n"));
    bed.write("in/part-m-00001", "1\t-\t4  7 x\n2\t-\t\n");
    let mut all = Vec::new();
    for driver in [None, Some(RunningDriver::start(&bed, BOARD))] {
        let out = |name: &str| format!("{name}-{}", driver.is_some());
        for (most, record, reason) in [
            (
                "0",
                40,
                "2 fields between tabs, not 3: number, class or -, terms",
            ),
            (
                "1",
                90,
                "document \"x\": its number is not from 0 to 4294967295",
            ),
            (
                "2",
                300,
                "class 8, and there are --classes 8, of which the first is 0",
            ),
            (
                "3",
                500,
                "term 2 is 1000, and there are --terms 1000, of which the first is 0",
            ),
        ] {
            let options = ["--quiet", "--slots", "1", "--skip-bad", most];
            let (code, said) = run(&bed, &options, &out(most));
            let at = format!(
                "bayes: map 0: {}/part-m-00000, record {record} at byte ",
                bed.at("in")
            );
            assert!(
                code == 1 && said.contains(&at) && said.contains(reason),
                "{said}"
            );
        }
        let (code, said) = run(&bed, &["--skip-bad", "5"], &out("skipped"));
        assert_eq!(code, 0, "{said}");
        // Those of both jobs.
        assert_eq!(said.matches("MAP_SKIPPED_RECORDS=5").count(), 2, "{said}");
        all.push(classes(&bed, &out("skipped")));
    }
    assert!(all[0] == all[1]);
    // A document without terms has the commonest class.
    let text = String::from_utf8(all.remove(0)).unwrap();
    assert_eq!(text.lines().count(), 1200 - 4 + 1, "{text:.300}");
}

#[test]
fn a_table_that_no_block_holds_is_refused() {
    let bed = Bed::new();
    documents(&bed, "20");
    for (terms, reason) in [
        (
            "60000",
            "a table of 8 classes and 60000 terms is 1920032 bytes: a block has 1048576",
        ),
        (
            "4000000000",
            "--classes 8 --terms 4000000000: a table may have up to 16777216 cells",
        ),
        ("0", "--classes 8 --terms 0: give one of each at least"),
    ] {
        let (code, said) = run(&bed, &["--terms", terms, "--quiet"], terms);
        assert!(code == 1 && said.contains(reason), "{code} {said}");
    }
}
