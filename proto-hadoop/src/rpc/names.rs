//! Looking up host names, on threads of their own.
//!
//! The C library's look-up blocks a thread for as long as a name server likes. On a runtime's blocking
//! threads, of which a small process has few, a thousand names stand in line with each other, and with
//! files on a mount that hangs; each connection's deadline runs out before its name has had its turn. So
//! look-ups have threads that nothing else uses, each name is asked for once however many wait for it, and
//! an answer serves for a while.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// An answer is asked for anew after so long; a host that has moved is found again then.
const FRESH: Duration = Duration::from_secs(60);
/// Names that are looked up at the same time.
const THREADS: usize = 16;
/// A thread without work ends.
const IDLE: Duration = Duration::from_secs(5);
/// Of a look-up and nothing else.
const STACK: usize = 512 << 10;
/// Answers that are kept.
const KEPT: usize = 20_000;

/// The addresses of a name, or what kept them from being found.
type Resolved = Result<Arc<[IpAddr]>, Arc<io::Error>>;

#[derive(Debug)]
struct NameEntry {
    answer: watch::Receiver<Option<Resolved>>,
    /// When it was asked for.
    asked: Instant,
}

#[derive(Debug, Default)]
struct Book {
    entries: BTreeMap<String, NameEntry>,
    waiting: VecDeque<(String, watch::Sender<Option<Resolved>>)>,
    threads: usize,
    idle: usize,
}

/// Names and their addresses.
#[derive(Debug)]
struct NameCache {
    book: Mutex<Book>,
    work: Condvar,
    resolve: fn(&str) -> io::Result<Vec<IpAddr>>,
}

static NAMES: NameCache = NameCache {
    book: Mutex::new(Book {
        entries: BTreeMap::new(),
        waiting: VecDeque::new(),
        threads: 0,
        idle: 0,
    }),
    work: Condvar::new(),
    resolve: by_the_system,
};

fn by_the_system(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = (name, 0).to_socket_addrs()?;
    Ok(found.map(|address| address.ip()).collect())
}

/// The addresses of `host:port`. Dropping the future leaves the look-up to others who wait for it.
///
/// # Errors
///
/// As the C library says, or `InvalidInput` where it is no `host:port`.
pub(super) async fn addresses(address: &str) -> io::Result<Vec<SocketAddr>> {
    if let Ok(literal) = address.parse() {
        return Ok(vec![literal]);
    }
    let no_address = || io::Error::new(io::ErrorKind::InvalidInput, "invalid socket address");
    let (host, port) = address.rsplit_once(':').ok_or_else(no_address)?;
    let port: u16 = port.parse().map_err(|_no_port| no_address())?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(literal) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(literal, port)]);
    }
    let found = NAMES.look_up(host).await?;
    Ok(found.iter().map(|ip| SocketAddr::new(*ip, port)).collect())
}

impl NameCache {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look_up(&'static self, name: &str) -> io::Result<Arc<[IpAddr]>> {
        let mut answer = self.ask(name)?;
        let answer = answer.wait_for(Option::is_some).await;
        match answer.ok().and_then(|answer| answer.clone()) {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Err(io::Error::other("the look-up was broken off")),
        }
    }

    /// A look-up that is under way, or its answer while that is fresh.
    fn ask(&'static self, name: &str) -> io::Result<watch::Receiver<Option<Resolved>>> {
        let now = Instant::now();
        let mut book = self.lock();
        if let Some(entry) = book.entries.get(name) {
            // A failure may pass: who asks after it asks anew.
            let is_of_use = match &*entry.answer.borrow() {
                None => true,
                Some(answer) => answer.is_ok() && now.duration_since(entry.asked) < FRESH,
            };
            if is_of_use {
                return Ok(entry.answer.clone());
            }
        }
        if book.idle == 0 && book.threads < THREADS {
            let thread = thread::Builder::new().name("names".into());
            let started = thread.stack_size(STACK).spawn(move || self.work());
            match started {
                Ok(_runs_on_its_own) => book.threads += 1,
                Err(error) if book.threads == 0 => return Err(error),
                Err(_others_do_it) => {}
            }
        }
        if book.entries.len() >= KEPT {
            book.entries
                .retain(|_, entry| now.duration_since(entry.asked) < FRESH);
        }
        let (sender, receiver) = watch::channel(None);
        let entry = NameEntry {
            answer: receiver.clone(),
            asked: now,
        };
        book.entries.insert(name.to_owned(), entry);
        book.waiting.push_back((name.to_owned(), sender));
        drop(book);
        self.work.notify_one();
        Ok(receiver)
    }

    /// What a thread does.
    fn work(&self) {
        let mut book = self.lock();
        loop {
            if let Some((name, asker)) = book.waiting.pop_front() {
                drop(book);
                let found = (self.resolve)(&name);
                let answer = found.map(Into::into).map_err(Arc::new);
                // Nobody may wait any more.
                asker.send_replace(Some(answer));
                book = self.lock();
                continue;
            }
            book.idle += 1;
            let (mut after, timeout) = self
                .work
                .wait_timeout(book, IDLE)
                .unwrap_or_else(PoisonError::into_inner);
            after.idle = after.idle.saturating_sub(1);
            if timeout.timed_out() && after.waiting.is_empty() {
                after.threads = after.threads.saturating_sub(1);
                return;
            }
            book = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::JoinSet;

    use super::*;

    static ASKED: AtomicUsize = AtomicUsize::new(0);

    #[expect(
        clippy::disallowed_methods,
        reason = "a slow name server, on a thread that does nothing else"
    )]
    fn slowly(name: &str) -> io::Result<Vec<IpAddr>> {
        ASKED.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        match name {
            "nowhere" => Err(io::ErrorKind::NotFound.into()),
            _ => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
        }
    }

    fn slow() -> &'static NameCache {
        Box::leak(Box::new(NameCache {
            book: Mutex::default(),
            work: Condvar::new(),
            resolve: slowly,
        }))
    }

    #[tokio::test]
    async fn a_thousand_slow_names_are_found_in_time_and_each_is_asked_for_once() {
        let names = slow();
        let begun = Instant::now();
        let mut all = JoinSet::new();
        for number in 0..3000 {
            let name = format!("n{}", number % 1000);
            all.spawn(async move { names.look_up(&name).await });
        }
        while let Some(found) = all.join_next().await {
            assert_eq!(found.unwrap().unwrap().len(), 1);
        }
        assert_eq!(ASKED.load(Ordering::Relaxed), 1000);
        // 1000 of 50 ms, 16 at a time; one after the other on four threads they take 12.5 s.
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
        // An answer is kept, a failure is not.
        let _found = names.look_up("n1").await.unwrap();
        assert_eq!(ASKED.load(Ordering::Relaxed), 1000);
        for asked in [1001, 1002] {
            assert!(names.look_up("nowhere").await.is_err());
            assert_eq!(ASKED.load(Ordering::Relaxed), asked);
        }
    }

    #[tokio::test]
    async fn literals_are_not_looked_up() {
        for (text, found) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:80", "[::1]:80"),
            ("::1:80", "[::1]:80"),
        ] {
            let expected: SocketAddr = found.parse().unwrap();
            assert_eq!(addresses(text).await.unwrap(), [expected]);
        }
        for text in ["nothing", "host:", "host:70000"] {
            let error = addresses(text).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{text}");
        }
    }
}
