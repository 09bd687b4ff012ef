//! What texts are about: a small table of topics, and a test question for any of them.

use super::voice::hash;

struct Topic {
    /// What people call it.
    names: &'static [&'static str],
    /// Words that give it away.
    words: &'static [&'static str],
    /// A test question about it.
    question: &'static str,
}

const TOPICS: &[Topic] = &[
    Topic {
        names: &["math", "maths", "mathematics", "arithmetic", "number", "calculation", "sum"],
        words: &[
            "sum",
            "plus",
            "minus",
            "number",
            "calculate",
            "multiply",
            "divide",
            "equation",
            "percent",
            "algebra",
            "geometry",
            "arithmetic",
            "addition",
            "math",
            "mathematics",
        ],
        question: "A question of math: what is 17 × 24, and how do you work it out in your head?",
    },
    Topic {
        names: &["coding", "code", "programming", "software"],
        words: &[
            "code",
            "coding",
            "program",
            "programming",
            "function",
            "python",
            "rust",
            "javascript",
            "bug",
            "software",
            "compile",
            "database",
            "sql",
            "html",
            "api",
            "algorithm",
        ],
        question: "I am new to coding. How do I reverse a list in Python, and why does it work?",
    },
    Topic {
        names: &["food", "cooking", "recipe", "meal", "eating"],
        words: &[
            "food",
            "cook",
            "cooking",
            "recipe",
            "meal",
            "dinner",
            "lunch",
            "breakfast",
            "eat",
            "bake",
            "kitchen",
            "ingredient",
            "pasta",
            "soup",
            "bread",
        ],
        question: "I have eggs, rice and one onion. What would you be cooking tonight?",
    },
    Topic {
        names: &["health", "medicine", "fitness", "medical"],
        words: &[
            "health", "doctor", "sleep", "pill", "heart", "exercise", "pain", "medicine", "diet",
            "headache", "hospital",
        ],
        question: "For my health I want to sleep better. What should I change first?",
    },
    Topic {
        names: &["money", "finance", "saving", "investing", "retirement", "pension"],
        words: &[
            "money",
            "cash",
            "save",
            "saving",
            "bank",
            "fund",
            "invest",
            "pension",
            "retirement",
            "salary",
            "budget",
            "inflation",
            "loan",
            "tax",
            "debt",
        ],
        question: "I can put aside 200 a month. What should I do with the money first?",
    },
    Topic {
        names: &["travel", "trip", "holiday", "vacation"],
        words: &[
            "travel", "trip", "holiday", "vacation", "flight", "hotel", "city", "train", "visit",
            "tour",
        ],
        question: "I have three days to travel and no car. Where would you send me, and why?",
    },
    Topic {
        names: &["weather", "climate"],
        words: &[
            "weather",
            "rain",
            "snow",
            "sun",
            "storm",
            "forecast",
            "climate",
            "wind",
            "temperature",
        ],
        question: "The weather looks bad for my picnic on Sunday. What is a good plan B?",
    },
    Topic {
        names: &["work", "job", "career"],
        words: &[
            "job",
            "work",
            "career",
            "boss",
            "colleague",
            "interview",
            "team",
            "office",
            "manager",
        ],
        question: "My boss asks me to work late every day. How do I say no without a quarrel?",
    },
    Topic {
        names: &["grief", "death", "loss"],
        words: &["died", "death", "grief", "funeral", "mourn", "lost"],
        question: "My neighbour is full of grief since his wife died. What can I say to him?",
    },
];

/// Words that carry no topic.
const EMPTY: &[&str] =
    &["the", "a", "an", "my", "your", "some", "of", "and", "or", "in", "to", "for"];

/// Whether a text is about this. All words must fit, by themselves or by their topic.
pub fn is_about(content: &str, about: &str) -> bool {
    let has: Vec<String> = stems(content).collect();
    let mut wanted = stems(about).filter(|word| !EMPTY.contains(&word.as_str())).peekable();
    wanted.peek().is_some()
        && wanted.all(|word| {
            has.iter().any(|other| is_near(other, &word))
                || TOPICS.iter().filter(|topic| is_called(topic, &word)).any(|topic| {
                    topic.words.iter().any(|clue| has.iter().any(|other| other == clue))
                        || (topic.names.contains(&"math") && has_sum(content))
                })
        })
}

/// A test question about this; `turn` gives another one.
pub fn question(about: &str, turn: usize) -> String {
    let words: Vec<String> = stems(about).collect();
    let known = TOPICS.iter().find(|topic| words.iter().any(|word| is_called(topic, word)));
    if let Some(topic) = known.filter(|_| turn == 0 && words.len() == 1) {
        return topic.question.into();
    }
    let start = usize::try_from(hash(&[about]) % 5).unwrap_or_default();
    match (start + turn) % 5 {
        0 => format!("What should I know about {about} before I begin?"),
        1 => format!("Can you explain {about} to me in simple words?"),
        2 => format!("What is a common mistake with {about}, and how do I avoid it?"),
        3 => format!("I keep hearing about {about}. What is your honest opinion?"),
        _ => format!("Give me three short tips about {about}."),
    }
}

fn is_called(topic: &Topic, word: &str) -> bool {
    topic.names.iter().any(|name| stem(name) == word)
}

/// The words of a text in their plainest form.
fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(stem)
}

fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    match word.strip_suffix("ies") {
        Some(start) if start.len() > 2 => format!("{start}y"),
        _ if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") => {
            word.trim_end_matches('s').to_owned()
        }
        _ => word,
    }
}

/// Whether the words are the same, or one is the longer form of the other.
fn is_near(word: &str, other: &str) -> bool {
    let (short, long) = if word.len() < other.len() { (word, other) } else { (other, word) };
    word == other || (short.chars().count() >= 5 && long.starts_with(short))
}

/// Whether digits stand around a sign, as in `2 + 2`.
fn has_sum(text: &str) -> bool {
    let letters: Vec<char> = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    letters.windows(3).any(|three| {
        three[0].is_ascii_digit() && "+-*/×÷=^".contains(three[1]) && three[2].is_ascii_digit()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_known_by_its_words() {
        for (content, about) in [
            ("What is 2+2?", "math"),
            ("What is 12 × 3?", "maths"),
            ("Calculate the area.", "math"),
            ("Why does my function crash?", "coding"),
            ("How do I bake bread?", "cooking"),
            ("Is my pension safe?", "retirement"),
            ("I like old trains.", "train"),
            ("Tell me about compound interest", "compound interest"),
        ] {
            assert!(is_about(content, about), "{content} is about {about}");
        }
        for (content, about) in [
            ("What is the capital of France?", "math"),
            ("We have 6 weeks of cash left", "math"),
            ("What is 2+2?", "coding"),
            ("Anything", ""),
            ("the", "the"),
        ] {
            assert!(!is_about(content, about), "{content} is not about {about}");
        }
    }

    #[test]
    fn a_question_about_a_topic_is_found_by_that_topic_again() {
        let names = TOPICS.iter().flat_map(|topic| topic.names).copied();
        for about in names.chain(["dragons", "compound interest", "Übermut"]) {
            for turn in 0..3 {
                let question = question(about, turn);
                assert!(is_about(&question, about), "{question} is about {about}");
            }
        }
    }
}
