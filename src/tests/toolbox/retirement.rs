//! The retirement example: its calculators against sums that are made month by month here, and its files.

use std::path::Path;

use greenroom::sandbox::{End, Outcome, Program, What};
use serde_json::{Value, json};

use super::{sandbox, toolbox};

const CALCULATORS: &str = include_str!("../../../examples/retirement/tools/calculators.py");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/retirement");

async fn run(function: &str, keywords: Value) -> Outcome {
    let Value::Object(keywords) = keywords else { panic!("arguments are an object") };
    let (source, function) = (CALCULATORS.to_owned(), function.to_owned());
    sandbox().run(Program::new(What::Call { source, function, keywords })).await.unwrap()
}

async fn calculated(function: &str, keywords: Value) -> Value {
    let outcome = run(function, keywords).await;
    assert_eq!(outcome.end, End::Exit(0));
    outcome.value.unwrap()
}

async fn refused(function: &str, keywords: Value) -> String {
    match run(function, keywords).await.end {
        End::Error(traceback) => traceback.lines().last().unwrap().to_owned(),
        other => panic!("it worked: {other:?}"),
    }
}

fn monthly(percent: f64) -> f64 {
    (1.0 + percent / 100.0).powf(1.0 / 12.0) - 1.0
}

/// Savings month by month: they earn, and then something is added.
fn saved(months: u32, start: f64, added: f64, percent: f64, rise: f64) -> f64 {
    (0..months).fold(start, |balance, month| {
        let added = added * (1.0 + rise / 100.0).powi(i32::try_from(month / 12).unwrap());
        balance * (1.0 + monthly(percent)) + added
    })
}

/// How many months savings last, month by month: something is taken out, and the rest earns. Both in the
/// money of then, so that inflation is not reckoned as the calculator does.
fn lasted(savings: f64, gap: f64, percent: f64, inflation: f64) -> u32 {
    let (mut balance, mut withdrawal, mut months) = (savings, gap / 12.0, 0);
    while balance >= withdrawal && months < 2000 {
        balance = (balance - withdrawal) * (1.0 + monthly(percent));
        withdrawal *= 1.0 + monthly(inflation);
        months += 1;
    }
    months
}

fn near(told: &Value, expected: f64, by: f64) {
    let told = told.as_f64().unwrap();
    assert!((told - expected).abs() <= by, "{told} is not {expected}");
}

#[tokio::test]
async fn savings_grow_as_they_do_month_by_month() {
    let told = calculated(
        "project_savings",
        json!({"years": 20, "current_savings": 80_000, "monthly_contribution": 600}),
    )
    .await;
    let expected = saved(240, 80_000.0, 600.0, 5.0, 0.0);
    near(&told["balance"], expected, 0.01);
    near(&told["balance_in_todays_money"], expected / 1.025_f64.powi(20), 0.01);
    near(&told["paid_in"], 80_000.0 + 240.0 * 600.0, 0.01);
    near(&told["gained"], expected - 224_000.0, 0.02);

    let rising = json!({
        "years": 7.5, "current_savings": 1000, "monthly_contribution": 100, "annual_return": 4,
        "contribution_growth": 3,
    });
    let told = calculated("project_savings", rising).await;
    near(&told["balance"], saved(90, 1000.0, 100.0, 4.0, 3.0), 0.01);

    let still = json!({"years": 10, "monthly_contribution": 50, "annual_return": 0});
    near(&calculated("project_savings", still).await["balance"], 6000.0, 0.01);
}

#[tokio::test]
async fn the_required_contribution_reaches_its_target() {
    let asked = json!({"target": 300_000, "years": 15, "current_savings": 40_000});
    let told = calculated("required_contribution", asked).await;

    let contribution = told["monthly_contribution"].as_f64().unwrap();
    let goal = 300_000.0 * 1.025_f64.powi(15);
    near(&told["target_in_future_money"], goal, 0.01);
    let reached = saved(180, 40_000.0, contribution, 5.0, 0.0);
    assert!((reached - goal).abs() < 2.0, "{reached} is not {goal}");

    let there = json!({
        "target": 1000, "years": 1, "current_savings": 5000, "target_in": "future_money",
    });
    let told = calculated("required_contribution", there).await;
    assert_eq!(told["monthly_contribution"], 0.0);
    assert_eq!(told["is_reached_without_saving"], true);
}

#[tokio::test]
async fn savings_last_as_long_as_they_do_month_by_month() {
    let asked =
        json!({"savings": 400_000, "annual_spending": 32_000, "other_income": 14_000, "age": 65});
    let told = calculated("withdrawal_horizon", asked).await;
    let expected = f64::from(lasted(400_000.0, 18_000.0, 4.0, 2.5)) / 12.0;
    near(&told["lasts_years"], expected, 0.15);
    near(&told["until_age"], 65.0 + expected, 0.15);
    assert_eq!(told["first_year_withdrawal_percent"], 4.5);

    let level = json!({
        "savings": 120_000, "annual_spending": 12_000, "annual_return": 2, "annual_inflation": 2,
    });
    assert_eq!(calculated("withdrawal_horizon", level).await["lasts_years"], 10.0);
    let rich = json!({"savings": 2_000_000, "annual_spending": 20_000});
    let told = calculated("withdrawal_horizon", rich).await;
    assert_eq!(told["outcome"], "The savings do not run out within 80 years.");
    let covered = json!({"savings": 1, "annual_spending": 10_000, "other_income": 12_000});
    let told = calculated("withdrawal_horizon", covered).await;
    assert!(told["outcome"].as_str().unwrap().starts_with("Other income covers"), "{told}");
    let nothing = json!({"savings": 0, "annual_spending": 10_000});
    assert_eq!(calculated("withdrawal_horizon", nothing).await["lasts_years"], 0.0);
}

#[tokio::test]
async fn inflation_is_reckoned_both_ways() {
    let then = json!({"amount_of_money": 1000, "years": 10});
    near(&calculated("adjust_for_inflation", then).await["amount"], 1280.08, 0.01);
    let back = json!({"amount_of_money": 1280.08, "years": 10, "direction": "to_today"});
    near(&calculated("adjust_for_inflation", back).await["amount"], 1000.0, 0.01);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_a_sentence() {
    let savings = |more: Value| {
        let mut all = json!({"years": 10});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let refusals = [
        ("project_savings", savings(json!({"years": 0})), "years is more than 0"),
        ("project_savings", savings(json!({"years": 200})), "at most 80"),
        ("project_savings", savings(json!({"years": "ten"})), "years is a number"),
        ("project_savings", savings(json!({"annual_return": 500})), "5 means 5 %"),
        ("project_savings", savings(json!({"current_savings": -1})), "an amount of money"),
        ("project_savings", savings(json!({"current_savings": true})), "is a number"),
        (
            "required_contribution",
            json!({"target": 1, "years": 1, "target_in": "euros"}),
            "target_in is",
        ),
        ("withdrawal_horizon", json!({"savings": 1, "annual_spending": 1, "age": 300}), "age is"),
        (
            "adjust_for_inflation",
            json!({"amount_of_money": 1, "years": 1, "direction": "up"}),
            "direction is",
        ),
    ];
    for (function, keywords, reason) in refusals {
        let told = refused(function, keywords).await;
        assert!(told.starts_with("ValueError: ") && told.contains(reason), "{told}");
    }
}

#[tokio::test]
async fn the_example_gives_its_tools_without_a_problem() {
    let tools = toolbox(&Path::new(FOLDER).join("tools.yaml")).tools().await;

    assert_eq!(tools.problems, []);
    let names: Vec<&str> = tools.specs().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "project_savings",
            "required_contribution",
            "withdrawal_horizon",
            "adjust_for_inflation",
            "write_todos",
        ]
    );
    for spec in &tools.specs()[..4] {
        let properties = spec.schema["properties"].as_object().unwrap();
        assert!(spec.description.len() > 40, "{}", spec.name);
        for (name, schema) in properties {
            assert!(schema["description"].is_string(), "{} says nothing of {name}", spec.name);
        }
    }
}
