use policy::commit::{BATCH, Records};

#[test]
fn a_batch_is_removed_once_when_it_is_full_and_its_last_job_is_over() {
    let mut records = Records::default();
    for job in 1..BATCH {
        assert_eq!(records.begin(job), 0);
        assert_eq!(records.end(job), None, "{job}");
    }
    // The last of the first batch outlives some of the second.
    assert_eq!(records.begin(100), 0);
    assert_eq!(records.begin(101), 1);
    assert_eq!(records.end(101), None);
    assert_eq!(records.end(100), Some(0));
    assert_eq!(records.end(100), None);
    for job in 102..=100 + BATCH {
        assert_eq!(records.begin(job), 1);
    }
    for job in 102..100 + BATCH {
        assert_eq!(records.end(job), None);
    }
    assert_eq!(records.end(100 + BATCH), Some(1));
    // One that has no record.
    assert_eq!(records.end(7), None);
}
