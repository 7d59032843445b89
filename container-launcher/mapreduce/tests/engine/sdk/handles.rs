//! What other threads of a task count and say.

use gerbil_mapreduce::Handle;
use gerbil_mapreduce::prelude::*;

/// Has each line counted by another thread, which it waits for in `cleanup`.
#[derive(Default)]
struct Counted {
    handle: Option<Handle>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Mapper for Counted {
    type Input = TextLines;
    type Key = Text;
    type Value = ();

    fn setup(&mut self, context: &mut Context) -> Result<()> {
        self.handle = Some(context.handle());
        Ok(())
    }

    fn map(&mut self, _: u64, line: &[u8], _: &mut Emit<'_, Self>) -> Result<()> {
        let Some(handle) = self.handle.clone() else {
            return Err(Error::new("no setup"));
        };
        let name = String::from_utf8(line.to_vec())?;
        self.threads.push(std::thread::spawn(move || {
            handle.progress();
            handle.count("lines", &name, 2);
            handle.status("counted");
        }));
        Ok(())
    }

    fn cleanup(&mut self, _: &mut Emit<'_, Self>) -> Result<()> {
        for thread in self.threads.drain(..) {
            thread
                .join()
                .map_err(|_panic| Error::new("a thread panicked"))?;
        }
        Ok(())
    }
}

#[test]
fn what_other_threads_count_and_say_is_the_tasks_own() {
    let job = || Job::new("counted").map(Counted::default).map_only();
    let done = job().test().input("a\nb\na\n").reduces(0).run().unwrap();
    assert_eq!(
        (done.counter("lines", "a"), done.counter("lines", "b")),
        (4, 2)
    );
    assert!(!done.status().is_empty() && done.status().iter().all(|said| said == "counted"));
    // A name that is too long is refused wherever it was counted.
    let long = "n".repeat(300);
    let failed = job().test().input(&long).reduces(0).run().unwrap_err();
    let said = failed.to_string();
    // By `map` itself, where the thread was quick, or by `cleanup`.
    assert!(said.contains("up to 255 bytes"), "{said}");
}
