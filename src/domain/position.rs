//! Where a row stands among its siblings: a text that sorts, with room for one more between any two.
//!
//! Moving a row writes that row alone.

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

fn digit(text: &str, at: usize) -> Option<usize> {
    let byte = *text.as_bytes().get(at)?;
    DIGITS.iter().position(|digit| *digit == byte)
}

/// A position after `before` and ahead of `after`; `""` and `None` are the two ends. Where `after`
/// leaves no room, the position is after `before` only.
pub fn between(before: &str, after: Option<&str>) -> String {
    let mut out = String::new();
    // At the open end the next digit will do; between two rows the middle leaves room on both sides.
    let at_the_end = after.is_none();
    let mut after = after;
    for at in 0.. {
        let low = digit(before, at).unwrap_or(0);
        let high = after.map_or(DIGITS.len(), |text| digit(text, at).unwrap_or(0));
        let next = if at_the_end { low + 1 } else { (low + high) / 2 };
        if next > low && next < DIGITS.len() {
            out.push(char::from(DIGITS[next]));
            return out;
        }
        // From here on everything is ahead of `after`, or there never was room.
        if high > low || after.is_some_and(|text| at >= text.len() || high < low) {
            after = None;
        }
        out.push(char::from(DIGITS[low]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_room_at_the_end_at_the_start_and_in_between() {
        let mut row = vec![between("", None)];
        for _ in 0..200 {
            row.push(between(row.last().unwrap(), None));
            row.insert(0, between("", Some(&row[0])));
            row.insert(row.len() / 2, between(&row[row.len() / 2 - 1], Some(&row[row.len() / 2])));
        }

        assert!(row.is_sorted_by(|left, right| left < right), "{row:?}");
        assert!(row.iter().all(|position| position.len() < 120));
    }

    #[test]
    fn equal_or_crossed_neighbours_still_give_a_position() {
        for (before, after) in [("3", "3"), ("5", "3"), ("1", "10"), ("", "0"), ("zz", "zz")] {
            assert!(between(before, Some(after)).as_str() > before, "{before} {after}");
        }
    }
}
