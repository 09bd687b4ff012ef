//! The voices of characters: sentences by tone, chosen by the words of a prompt and never by chance.

/// A tone, with the words that call for it and what it says.
pub struct Voice {
    clues: &'static [&'static str],
    /// First sentences. `{}` is what the person speaks of.
    pub openings: [&'static str; 4],
    /// Second sentences.
    pub middles: [&'static str; 4],
    /// Last sentences.
    pub closings: [&'static str; 4],
}

const VOICES: [Voice; 5] = [
    Voice {
        clues: &[
            "practical",
            "guide",
            "plan",
            "step",
            "engineer",
            "review",
            "chef",
            "cook",
            "mechanic",
            "teacher",
            "code",
            "helpful",
            "assistant",
            "clear",
            "plain",
            "concise",
        ],
        openings: [
            "Let us take {} one step at a time.",
            "With {}, I would begin with what you can check today.",
            "Good, {}: that is something to work with.",
            "First things first: what about {} has to be settled now?",
        ],
        middles: [
            "Write down what you know, what you only assume, and what it would cost to be wrong.",
            "Pick the smallest part that you can finish, and finish that.",
            "Most of the work is in the first honest list.",
            "Take away whatever does not change the next decision.",
        ],
        closings: [
            "What have you tried so far?",
            "Tell me where you stand, and we take the next step.",
            "Which part is the most urgent?",
            "Come back with the result, and we go on from there.",
        ],
    },
    Voice {
        clues: &[
            "optimist",
            "optimism",
            "cheerful",
            "kind",
            "warm",
            "friend",
            "encourage",
            "coach",
            "support",
            "hope",
            "gentle",
            "positive",
            "caring",
        ],
        openings: [
            "I am glad that you bring up {}.",
            "There is more room in {} than it seems at first.",
            "{}: you are already looking at it, and that is half of the way.",
            "I like that you speak about {} so openly.",
        ],
        middles: [
            "Something in it can still be moved, and it is rarely the biggest part.",
            "Look for the one thing that went better than you expected, and start there.",
            "You do not have to solve all of it today.",
            "Small steps count, even those that nobody sees.",
        ],
        closings: [
            "What would make tomorrow a little easier?",
            "Which part of it gives you some hope?",
            "I would love to hear what you do next.",
            "Who could be at your side in this?",
        ],
    },
    Voice {
        clues: &[
            "skeptic", "sceptic", "doubt", "critic", "evidence", "claim", "devil", "question",
            "test", "verify", "proof",
        ],
        openings: [
            "Before I say anything about {}: how do we know?",
            "{}, you say. I would like to see what that rests on.",
            "I have my doubts about {}, and about my first thought on it too.",
            "Let us see what remains of {} when we lean on it.",
        ],
        middles: [
            "What would we expect to see if it were not so?",
            "One story is not yet a pattern, and a pattern is not yet a cause.",
            "The strongest reason against it deserves the first look.",
            "Who counted, and whom did they leave out?",
        ],
        closings: [
            "Show me the best evidence, and I will change my mind.",
            "What would convince you of the opposite?",
            "Until then, I would call it possible and no more.",
            "Where does the claim come from?",
        ],
    },
    Voice {
        clues: &[
            "formal",
            "lawyer",
            "professor",
            "butler",
            "doctor",
            "official",
            "sir",
            "professional",
            "academic",
            "expert",
            "precise",
        ],
        openings: [
            "Thank you for your question about {}.",
            "Allow me a remark on {}.",
            "With regard to {}, some care is in order.",
            "The matter of {} deserves a considered answer.",
        ],
        middles: [
            "It is useful to separate what is certain from what is merely customary.",
            "Two aspects ought to be considered, and the second is often overlooked.",
            "I should prefer not to go further than the facts allow.",
            "A definition of the terms would be a prudent beginning.",
        ],
        closings: [
            "I remain at your disposal for the particulars.",
            "Might you describe the circumstances in more detail?",
            "Should you wish, we may proceed point by point.",
            "I trust that this is a useful starting point.",
        ],
    },
    Voice {
        clues: &[
            "pirate",
            "joke",
            "funny",
            "humor",
            "humour",
            "comedian",
            "playful",
            "inn",
            "innkeeper",
            "wizard",
            "story",
            "game",
            "poet",
            "play",
            "witty",
            "dragon",
        ],
        openings: [
            "Ha, {}! Pull up a chair, this may take a while.",
            "{}? I once knew a fellow who lost his hat over less.",
            "Now you have said it: {}.",
            "Well, well: {}, and on a day like this.",
        ],
        middles: [
            "The trick is to look it in the eye and not to blink first.",
            "Everyone has a tale about that, and at least one of them is true.",
            "If it were easy, my cat would have done it already.",
            "There is a back door to every riddle, and it usually squeaks.",
        ],
        closings: [
            "So, what is your next move?",
            "Go on, tell me the part that you left out.",
            "Shall we toss a coin, or do you want to think first?",
            "I will keep the fire going while you decide.",
        ],
    },
];

/// How many words at the beginning say who speaks; clues in them count more.
const HEAD: usize = 40;

/// The voice for a system prompt; the practical one when nothing calls for another.
pub fn voice(prompt: &str) -> &'static Voice {
    let lower = prompt.to_lowercase();
    let words = || {
        lower
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .enumerate()
    };
    let score = |voice: &Voice| {
        let clues = words().filter(|(_, word)| {
            let fits = |clue: &str| *word == clue || (clue.len() > 4 && word.starts_with(clue));
            voice.clues.iter().any(|clue| fits(clue))
        });
        clues.map(|(place, _)| if place < HEAD { 5 } else { 1 }).sum::<usize>()
    };
    // The first of the best, so that a draw goes to the practical one.
    let best = VOICES.iter().rev().max_by_key(|voice| score(voice));
    best.unwrap_or(&VOICES[0])
}

/// A number that depends on these texts only, today and on every machine (FNV-1a).
pub fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
