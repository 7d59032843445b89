//! What `gerbil mr` says of a job, said as Hadoop's client says it: programs that start `hadoop jar` read that.

/// Where a line comes from, as Hadoop's client has it.
const JOB: &str = "INFO mapreduce.Job: ";
const CLIENT: &str = "INFO impl.YarnClientImpl: ";
const STREAMING: &str = "streaming.StreamJob: ";

/// The lines of one job, one after the other.
#[derive(Debug)]
pub(super) struct Told {
    /// What stands in front of each: the day and the time.
    now: fn() -> String,
}

impl Told {
    pub(super) const fn new(now: fn() -> String) -> Self {
        Self { now }
    }

    /// What a line of `gerbil mr` becomes, without its end.
    pub(super) fn lines(&self, line: &str) -> Vec<String> {
        let of = |rest: String| format!("{} {rest}", (self.now)());
        // Groups of counters, and counters, are further lines of what is above them.
        if line.starts_with([' ', '\t']) {
            return vec![line.to_owned()];
        }
        let said = line.strip_prefix("gerbil: ").unwrap_or(line);
        let mut lines = Vec::new();
        if let Some(numbers) = application(said) {
            lines.push(of(format!(
                "{CLIENT}Submitted application application_{numbers}"
            )));
            lines.push(of(format!("{JOB}Running job: job_{numbers}")));
        }
        lines.push(of(format!("{JOB}{said}")));
        lines
    }

    /// What comes last: where the output is, or that there is none.
    pub(super) fn end(&self, output: &str, succeeded: bool) -> Vec<String> {
        let now = (self.now)();
        match succeeded {
            true => vec![format!("{now} INFO {STREAMING}Output directory: {output}")],
            false => vec![
                format!("{now} ERROR {STREAMING}Job not successful!"),
                "Streaming Command Failed!".to_owned(),
            ],
        }
    }
}

/// The numbers of the application that a line says a job to be, `s1.1 streaming (application_1_0001): 2 maps`.
fn application(said: &str) -> Option<&str> {
    let (before, rest) = said.split_once(" (application_")?;
    let (numbers, behind) = rest.split_once(')')?;
    let is_job =
        before.starts_with('s') && before.split(' ').count() == 2 && behind.starts_with(": ");
    let (stamp, number) = numbers.split_once('_')?;
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_job && are_digits(stamp) && are_digits(number)).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::Told;

    #[test]
    fn a_job_is_told_as_hadoop_tells_it() {
        let told = Told::new(|| "26/11/27 10:00:00".to_owned());
        for (line, wanted) in [
            (
                "gerbil: s2.1 streaming (application_17_0002): 2 maps over 1 MB, 2 reduces",
                vec![
                    "26/11/27 10:00:00 INFO impl.YarnClientImpl: Submitted application application_17_0002",
                    "26/11/27 10:00:00 INFO mapreduce.Job: Running job: job_17_0002",
                    "26/11/27 10:00:00 INFO mapreduce.Job: s2.1 streaming (application_17_0002): 2 maps over 1 MB, 2 reduces",
                ],
            ),
            (
                "Counters: 13",
                vec!["26/11/27 10:00:00 INFO mapreduce.Job: Counters: 13"],
            ),
            ("\t\tSPILLS=2", vec!["\t\tSPILLS=2"]),
            (
                "gerbil: map 0: killed (application_x_y)",
                vec!["26/11/27 10:00:00 INFO mapreduce.Job: map 0: killed (application_x_y)"],
            ),
        ] {
            assert_eq!(told.lines(line), wanted, "{line}");
        }
        assert_eq!(
            told.end("hdfs:///out", true),
            ["26/11/27 10:00:00 INFO streaming.StreamJob: Output directory: hdfs:///out"]
        );
        assert_eq!(
            told.end("hdfs:///out", false)[1],
            "Streaming Command Failed!"
        );
    }
}
