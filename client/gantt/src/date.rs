//! Days and times.

/// The day and the time of so many ms since 1970, in UTC, which a node and who reads of it have both.
#[must_use]
pub fn date(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    // Of the era of 400 years that begins on the 1st of March of the year 0: days before 1970 are 719,468.
    let days = days.saturating_add(719_468);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, later) = match month < 10 {
        true => (month + 3, 0),
        false => (month - 9, 1),
    };
    let year = era * 400 + year + later;
    format!(
        "{year:04}-{month:02}-{day_of_month:02} {:02}:{:02}:{:02} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn leap_days_and_ends_of_years_are_where_they_are() {
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_798_761_599_000), "2026-12-31 23:59:59 UTC");
    }
}
