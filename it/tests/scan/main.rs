//! What `scan` says of programs of many kinds, built here as their users build them: C and Rust by the compilers,
//! Python, shells, jars, and files put together by hand where this machine has no compiler for them.

mod made;
mod programs;

use made::Lab;
use programs::{Program, all};
use scan::{Confidence, ProgramStage, ScanRequest, detect};

/// Of programs that declare nothing, how many hundredths are to be told right.
const FOUND: usize = 95;

#[test]
fn programs_of_many_kinds_are_told_apart() {
    let lab = Lab::new().unwrap();
    let all = all(&lab).unwrap();
    assert!(all.len() >= 40, "{} programs", all.len());
    let (mut missed, mut found) = (Vec::new(), 0);
    for Program {
        name,
        path,
        shipped,
        wanted,
        declares,
    } in &all
    {
        let request = ScanRequest {
            program: path.clone(),
            shipped: shipped.clone(),
            ..ScanRequest::default()
        };
        let detected = detect(&request);
        let declared = detected.declared(ProgramStage::Map).into_iter().next();
        let finding = declared.unwrap_or_else(|| detected.finding(ProgramStage::Map));
        let is_right = finding.need.as_deref() == *wanted
            && (finding.confidence == Confidence::Declared) == *declares;
        println!("{name}: {finding}");
        if is_right {
            found += usize::from(!declares);
            continue;
        }
        assert!(!declares, "{name}: {finding}");
        assert!(wanted.is_some(), "{name} needs nothing: {finding}");
        missed.push(format!("{name}: {finding}"));
    }
    let undeclared = all.iter().filter(|program| !program.declares).count();
    println!(
        "{} programs, {} of them declared; of the others {found} of {undeclared} right; missed: {missed:?}",
        all.len(),
        all.len() - undeclared
    );
    assert!(found * 100 >= undeclared * FOUND, "{missed:?}");
}

#[test]
fn examples_without_a_gpu_have_none() {
    for name in ["wordcount", "grep", "kmeans", "pi", "tera", "faulty"] {
        let program = it::mapreduce::example(name).unwrap();
        let request = ScanRequest {
            program,
            ..ScanRequest::default()
        };
        let finding = detect(&request).finding(ProgramStage::Map);
        assert_eq!(finding.need, None, "{name}: {finding}");
    }
}
