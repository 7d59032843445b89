//! What a launcher is ordered to run.

use std::sync::atomic::{AtomicU32, Ordering};

use job::wire::{KeyValue, Program, Share};

/// A share of `ranks` of a job of `size`, running `program`.
pub fn share(size: u32, ranks: &[u32], program: &str) -> Share {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    Share {
        size,
        ranks: ranks.to_vec(),
        programs: vec![Program {
            processes: size,
            file: program.to_owned(),
            ..Program::default()
        }],
        process_mapping: pmi::process_mapping(&[size]),
        kvs_name: format!(
            "kvs_{}_{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        ),
        ..Share::default()
    }
}

/// The same with arguments and further environment.
pub fn with(mut share: Share, args: &[&str], environment: &[(&str, &str)]) -> Share {
    for program in &mut share.programs {
        program.args = args.iter().map(|&arg| arg.to_owned()).collect();
        let pairs = environment.iter().map(|&(key, value)| KeyValue {
            key: key.to_owned(),
            value: value.to_owned(),
        });
        program.environment = pairs.collect();
    }
    share
}
